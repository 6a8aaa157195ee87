#include "ir/number.h"

namespace fact::ir {
namespace {

template <class T, class Convert>
void load_as(const void* data, std::int64_t offset, std::int64_t stride, std::int64_t count,
             double* out, Convert convert) {
    const T* from = static_cast<const T*>(data) + offset;
    for (std::int64_t i = 0; i < count; ++i) out[i] = convert(from[i * stride]);
}

template <class T, class Convert>
void store_as(void* data, std::int64_t offset, std::int64_t stride, std::int64_t count,
              const double* values, Convert convert) {
    T* to = static_cast<T*>(data) + offset;
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] = convert(values[i]);
}

}  // namespace

void load(const void* data, DType dtype, std::int64_t offset, std::int64_t stride,
          std::int64_t count, double* out) {
    const auto as = [&]<class T>(T) {
        load_as<T>(data, offset, stride, count, out, [](T x) { return static_cast<double>(x); });
    };
    switch (dtype) {
        case DType::boolean:
            return load_as<std::uint8_t>(data, offset, stride, count, out,
                                         [](std::uint8_t x) { return x ? 1.0 : 0.0; });
        case DType::u8:
            return as(std::uint8_t{});
        case DType::i8:
            return as(std::int8_t{});
        case DType::i16:
            return as(std::int16_t{});
        case DType::i32:
            return as(std::int32_t{});
        case DType::i64:
            return as(std::int64_t{});
        case DType::f16:
            return load_as<std::uint16_t>(data, offset, stride, count, out,
                                          [](std::uint16_t x) { return f32_from_f16(x); });
        case DType::bf16:
            return load_as<std::uint16_t>(data, offset, stride, count, out,
                                          [](std::uint16_t x) { return f32_from_bf16(x); });
        case DType::f32:
            return as(float{});
        case DType::f64:
            return as(double{});
    }
}

void store(void* data, DType dtype, std::int64_t offset, std::int64_t stride, std::int64_t count,
           const double* values) {
    const auto as_integer = [&]<class T>(T) {
        store_as<T>(data, offset, stride, count, values, integer_from_f64<T>);
    };
    switch (dtype) {
        case DType::boolean:
            return store_as<std::uint8_t>(data, offset, stride, count, values,
                                          [](double x) -> std::uint8_t { return x != 0; });
        case DType::u8:
            return as_integer(std::uint8_t{});
        case DType::i8:
            return as_integer(std::int8_t{});
        case DType::i16:
            return as_integer(std::int16_t{});
        case DType::i32:
            return as_integer(std::int32_t{});
        case DType::i64:
            return as_integer(std::int64_t{});
        case DType::f16:
            return store_as<std::uint16_t>(data, offset, stride, count, values, f16_from_f64);
        case DType::bf16:
            return store_as<std::uint16_t>(data, offset, stride, count, values, bf16_from_f64);
        case DType::f32:
            return store_as<float>(data, offset, stride, count, values,
                                   [](double x) { return static_cast<float>(x); });
        case DType::f64:
            return store_as<double>(data, offset, stride, count, values,
                                    [](double x) { return x; });
    }
}

}  // namespace fact::ir
