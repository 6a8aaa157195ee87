// Element types: one table with the spellings of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/enum_table.h"

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

inline constexpr auto kDTypes = table_of<DType>([](DType dtype) -> std::optional<DTypeInfo> {
    switch (dtype) {
        case DType::boolean:
            return DTypeInfo{dtype, "bool", "bool", "bool", 1, false, 12};
        case DType::u8:
            return DTypeInfo{dtype, "u8", "uint8", "uint8_t", 1, false, 1};
        case DType::i8:
            return DTypeInfo{dtype, "i8", "int8", "int8_t", 1, false, 2};
        case DType::i16:
            return DTypeInfo{dtype, "i16", "int16", "int16_t", 2, false, 3};
        case DType::i32:
            return DTypeInfo{dtype, "i32", "int32", "int32_t", 4, false, 4};
        case DType::i64:
            return DTypeInfo{dtype, "i64", "int64", "int64_t", 8, false, 5};
        case DType::f16:
            return DTypeInfo{dtype, "f16", "float16", "half", 2, true, 6};
        case DType::bf16:
            return DTypeInfo{dtype, "bf16", "bfloat16", "bf16", 2, true, 13};
        case DType::f32:
            return DTypeInfo{dtype, "f32", "float32", "float", 4, true, 7};
        case DType::f64:
            return DTypeInfo{dtype, "f64", "float64", "double", 8, true, 8};
    }
    return std::nullopt;
});

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
