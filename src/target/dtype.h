// Element types: one table with every spelling an element type has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fact {

enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

struct DTypeInfo {
    DType dtype;
    std::string_view name;   // in kernel text and in our files
    std::string_view torch;  // torch.<name>
    std::string_view cuda;   // in emitted code
    int bytes;
    bool floating;
    int pt2_code;  // number in torch.export's schema
};

inline constexpr std::array<DTypeInfo, 10> kDTypes{{
    {DType::boolean, "bool", "bool", "bool", 1, false, 12},
    {DType::u8, "u8", "uint8", "uint8_t", 1, false, 1},
    {DType::i8, "i8", "int8", "int8_t", 1, false, 2},
    {DType::i16, "i16", "int16", "int16_t", 2, false, 3},
    {DType::i32, "i32", "int32", "int32_t", 4, false, 4},
    {DType::i64, "i64", "int64", "int64_t", 8, false, 5},
    {DType::f16, "f16", "float16", "half", 2, true, 6},
    {DType::bf16, "bf16", "bfloat16", "bf16", 2, true, 13},
    {DType::f32, "f32", "float32", "float", 4, true, 7},
    {DType::f64, "f64", "float64", "double", 8, true, 8},
}};

constexpr const DTypeInfo& info(DType dtype) {
    return kDTypes[static_cast<std::size_t>(dtype)];
}

constexpr std::optional<DType> dtype_from_name(std::string_view name) {
    for (const auto& row : kDTypes)
        if (row.name == name) return row.dtype;
    return std::nullopt;
}

constexpr std::optional<DType> dtype_from_pt2(int code) {
    for (const auto& row : kDTypes)
        if (row.pt2_code == code) return row.dtype;
    return std::nullopt;
}

}  // namespace fact
