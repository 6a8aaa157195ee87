#include "graph/zip_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace fact::graph {

namespace {

// Signatures, sizes and offsets are those of the zip format; sizes and offsets in bytes.
constexpr std::uint32_t kLocalSignature = 0x04034b50, kEntrySignature = 0x02014b50,
                        kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50,
                        kLocator64Signature = 0x07064b50;
constexpr std::uint64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLocatorSize = 20,
                        kEnd64Size = 56;
constexpr std::uint64_t kMaxComment = 65535;
constexpr std::uint16_t kEncrypted = 1;      // a bit of the flags
constexpr std::uint32_t kIn64 = 0xffffffff;  // stands for a value in the zip64 extra field

using Bytes = std::span<const std::byte>;

bool inside(Bytes bytes, std::uint64_t offset, std::uint64_t length) {
    return offset <= bytes.size() && length <= bytes.size() - offset;
}

// Little-endian read; the caller has checked that it lies inside.
template <class T>
T read(Bytes bytes, std::uint64_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

struct Directory {
    std::uint64_t offset = 0, size = 0, count = 0;
};

// Where the record is that ends the directory; only a comment, whose length it has, may follow it.
std::optional<std::uint64_t> find_end(Bytes file) {
    if (file.size() < kEndSize) return std::nullopt;
    const std::uint64_t last = file.size() - kEndSize;
    const std::uint64_t first = last > kMaxComment ? last - kMaxComment : 0;
    for (std::uint64_t at = last + 1; at-- > first;)
        if (read<std::uint32_t>(file, at) == kEndSignature &&
            inside(file, at + kEndSize, read<std::uint16_t>(file, at + 20)))
            return at;
    return std::nullopt;
}

std::optional<Directory> find_directory(Bytes file, std::uint64_t end) {
    Directory found{read<std::uint32_t>(file, end + 16), read<std::uint32_t>(file, end + 12),
                    read<std::uint16_t>(file, end + 10)};
    if (end >= kLocatorSize &&
        read<std::uint32_t>(file, end - kLocatorSize) == kLocator64Signature) {
        const auto end64 = read<std::uint64_t>(file, end - kLocatorSize + 8);
        if (!inside(file, end64, kEnd64Size) || read<std::uint32_t>(file, end64) != kEnd64Signature)
            return std::nullopt;
        found = {read<std::uint64_t>(file, end64 + 48), read<std::uint64_t>(file, end64 + 40),
                 read<std::uint64_t>(file, end64 + 32)};
    }
    if (!inside(file, found.offset, found.size) || found.count > found.size / kEntrySize)
        return std::nullopt;
    return found;
}

// Replaces the fields that do not fit 32 bits by those of the zip64 extra field, which has id 1.
bool widen(ZipReader::Entry& entry, Bytes extra) {
    std::uint64_t at = 0;
    while (inside(extra, at, 4)) {
        const auto id = read<std::uint16_t>(extra, at), length = read<std::uint16_t>(extra, at + 2);
        at += 4;
        if (!inside(extra, at, length)) return false;
        if (id == 1) {
            const Bytes field = extra.subspan(at, length);
            std::uint64_t next = 0;
            for (std::uint64_t* value : {&entry.size, &entry.stored_size, &entry.header_offset}) {
                if (*value != kIn64) continue;
                if (!inside(field, next, 8)) return false;
                *value = read<std::uint64_t>(field, next);
                next += 8;
            }
            return true;
        }
        at += length;
    }
    return true;
}

constexpr auto kCrcTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
        table[i] = value;
    }
    return table;
}();

std::uint32_t crc32(Bytes bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const std::byte byte : bytes)
        crc = kCrcTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff] ^ (crc >> 8);
    return ~crc;
}

Error system_error(const std::filesystem::path& path, std::string_view action) {
    return {fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)), {}};
}

}  // namespace

Result<ZipReader> ZipReader::open(const std::filesystem::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return system_error(path, "open");
    const std::shared_ptr<const int> closer(&descriptor, [](const int* fd) { ::close(*fd); });
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) return system_error(path, "read");
    if (!S_ISREG(status.st_mode)) return Error{path.string() + ": not a regular file", {}};
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return Error{path.string() + ": the file is empty", {}};
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) return system_error(path, "map");

    ZipReader reader;
    reader.path_ = path;
    reader.mapping_ = {address, [size](const void* at) { ::munmap(const_cast<void*>(at), size); }};
    reader.file_ = {static_cast<const std::byte*>(address), size};
    if (auto done = reader.read_directory(); !done) return done.error();
    return reader;
}

Result<> ZipReader::read_directory() {
    const auto end = find_end(file_);
    if (!end) {
        const bool starts_as_zip =
            file_.size() >= 4 && read<std::uint32_t>(file_, 0) == kLocalSignature;
        return Error{
            path_.string() + (starts_as_zip ? ": the archive is truncated" : ": not a zip archive"),
            "write it again with torch.export.save"};
    }
    const Error damaged{path_.string() + ": the archive's directory is damaged",
                        "write it again with torch.export.save"};
    const auto directory = find_directory(file_, *end);
    if (!directory) return damaged;

    const Bytes bytes = file_.subspan(directory->offset, directory->size);
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < directory->count; ++i) {
        if (!inside(bytes, at, kEntrySize) || read<std::uint32_t>(bytes, at) != kEntrySignature)
            return damaged;
        const std::uint64_t name_size = read<std::uint16_t>(bytes, at + 28),
                            extra_size = read<std::uint16_t>(bytes, at + 30),
                            comment_size = read<std::uint16_t>(bytes, at + 32);
        Entry entry{.size = read<std::uint32_t>(bytes, at + 24),
                    .stored_size = read<std::uint32_t>(bytes, at + 20),
                    .header_offset = read<std::uint32_t>(bytes, at + 42),
                    .crc = read<std::uint32_t>(bytes, at + 16),
                    .method = read<std::uint16_t>(bytes, at + 10),
                    .flags = read<std::uint16_t>(bytes, at + 8)};
        at += kEntrySize;
        if (!inside(bytes, at, name_size + extra_size + comment_size)) return damaged;
        std::string name(reinterpret_cast<const char*>(bytes.data() + at), name_size);
        if (!widen(entry, bytes.subspan(at + name_size, extra_size))) return damaged;
        at += name_size + extra_size + comment_size;
        if (!entries_.emplace(std::move(name), entry).second) return damaged;
    }
    return Ok{};
}

Result<std::span<const std::byte>> ZipReader::bytes(std::string_view name) const {
    const auto failure = [&](std::string_view reason) {
        return Error{fmt::format("{}: record '{}' {}", path_.string(), name, reason),
                     "write the archive again with torch.export.save"};
    };
    const auto found = entries_.find(name);
    if (found == entries_.end()) return failure("is missing");
    const Entry& entry = found->second;
    if ((entry.flags & kEncrypted) != 0) return failure("is encrypted");
    if (entry.method != 0 || entry.size != entry.stored_size) return failure("is compressed");
    if (!inside(file_, entry.header_offset, kLocalSize) ||
        read<std::uint32_t>(file_, entry.header_offset) != kLocalSignature)
        return failure("is damaged");
    // The local extra field pads the payload and differs from the directory's.
    const std::uint64_t payload = entry.header_offset + kLocalSize +
                                  read<std::uint16_t>(file_, entry.header_offset + 26) +
                                  read<std::uint16_t>(file_, entry.header_offset + 28);
    if (!inside(file_, payload, entry.size)) return failure("reaches beyond the end of the file");
    return file_.subspan(payload, entry.size);
}

Result<std::string_view> ZipReader::text(std::string_view name) const {
    auto found = bytes(name);
    if (!found) return found.error();
    if (crc32(*found) != entries_.find(name)->second.crc)
        return Error{
            fmt::format("{}: record '{}' is damaged (wrong checksum)", path_.string(), name),
            "write the archive again with torch.export.save"};
    return std::string_view(reinterpret_cast<const char*>(found->data()), found->size());
}

}  // namespace fact::graph
