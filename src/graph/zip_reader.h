// A zip archive of stored (not compressed) records, read in place from a memory-mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace fact::graph {

class ZipReader {
  public:
    struct Entry {
        std::uint64_t size = 0, stored_size = 0;  // stored_size: as compressed
        std::uint64_t header_offset = 0;          // of the record's own header in the file
        std::uint32_t crc = 0;
        std::uint16_t method = 0, flags = 0;  // method: of compression; 0: none
    };

    // Maps the file and reads its directory.
    static Result<ZipReader> open(const std::filesystem::path& path);

    const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
    bool contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }
    // A record's bytes in the mapping; the checksum is not computed.
    Result<std::span<const std::byte>> bytes(std::string_view name) const;
    // A record as text, its checksum verified.
    Result<std::string_view> text(std::string_view name) const;
    // The bytes are valid as long as a copy of this pointer exists.
    std::shared_ptr<const void> mapping() const { return mapping_; }

  private:
    Result<> read_directory();

    std::filesystem::path path_;
    std::shared_ptr<const void> mapping_;
    std::span<const std::byte> file_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace fact::graph
