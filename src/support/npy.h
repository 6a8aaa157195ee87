// NumPy's .npy files, which contain one array; versions 1 to 3 of the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/enum_table.h"
#include "support/result.h"

namespace fact {

enum class NpyType : std::uint8_t { b1, i1, i2, i4, i8, u1, f2, f4, f8 };

struct NpyTypeInfo {
    NpyType type;
    std::string_view descr;  // in the file's header
    std::string_view numpy;  // what NumPy calls it
    int bytes;
};

inline constexpr auto kNpyTypes = table_of<NpyType>([](NpyType type) -> std::optional<NpyTypeInfo> {
    switch (type) {
        case NpyType::b1:
            return NpyTypeInfo{type, "|b1", "bool", 1};
        case NpyType::i1:
            return NpyTypeInfo{type, "|i1", "int8", 1};
        case NpyType::i2:
            return NpyTypeInfo{type, "<i2", "int16", 2};
        case NpyType::i4:
            return NpyTypeInfo{type, "<i4", "int32", 4};
        case NpyType::i8:
            return NpyTypeInfo{type, "<i8", "int64", 8};
        case NpyType::u1:
            return NpyTypeInfo{type, "|u1", "uint8", 1};
        case NpyType::f2:
            return NpyTypeInfo{type, "<f2", "float16", 2};
        case NpyType::f4:
            return NpyTypeInfo{type, "<f4", "float32", 4};
        case NpyType::f8:
            return NpyTypeInfo{type, "<f8", "float64", 8};
    }
    return std::nullopt;
});

constexpr const NpyTypeInfo& info(NpyType type) {
    return kNpyTypes[static_cast<std::size_t>(type)];
}

struct NpyArray {
    NpyType type = NpyType::f4;
    std::vector<std::int64_t> shape;
    std::string data;  // little-endian, the last dimension contiguous
    bool operator==(const NpyArray&) const = default;
};

// The number of elements in `data`.
std::int64_t num_elements(const NpyArray& array);

inline constexpr std::size_t kMaxNpyBytes = std::size_t{4} << 30;

// A file larger than `max_bytes` is an Error and is not read. Fortran order becomes C order.
Result<NpyArray> read_npy(const std::filesystem::path& path, std::size_t max_bytes = kMaxNpyBytes);
// `name` is used in error messages.
Result<NpyArray> parse_npy(std::string bytes, std::string_view name);

// The content of a .npy file.
std::string npy_bytes(const NpyArray& array);
Result<> write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace fact
