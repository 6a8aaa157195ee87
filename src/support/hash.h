// SHA-256, for names derived from content and for checking that files have not changed.
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
// The hash of a file of any size, which is never in memory as a whole.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

// The hash of bytes that are added piece by piece.
class Sha256 {
  public:
    void add(std::string_view bytes);
    std::string hex() const;  // of everything added so far

  private:
    Sha256State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, kSha256Block> rest_{};  // the start of an incomplete block
    std::uint64_t length_ = 0;                        // of everything added, in bytes
};

}  // namespace fact
