// SHA-256, for names that follow from content and for files that must not have changed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/result.h"
#include "support/sha256_blocks.h"

namespace fact {

std::string sha256_hex(std::string_view bytes);
// The first 16 hex digits: enough for file names.
std::string short_hash(std::string_view bytes);
// Of a file of any size, read piece by piece: about as fast as it can be read.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

// Of bytes that come in pieces.
class Sha256 {
  public:
    void add(std::string_view bytes);
    std::string hex() const;  // of all that was added

  private:
    Sha256State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, kSha256Block> rest_{};  // the start of a block
    std::uint64_t length_ = 0;                        // of all, in bytes
};

}  // namespace fact
