#include "verify/tolerance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/result.h"

namespace fact::verify {

ErrorPair relative(const Difference& d) {
    // An oracle of zeros has no scale of its own: errors stay absolute.
    const double largest = d.largest_value > 0 ? d.largest_value : 1;
    const double squares = d.sum_squared_value > 0 ? d.sum_squared_value : 1;
    return {d.largest_error / largest, std::sqrt(d.sum_squared_error / squares)};
}

ErrorPair floor_of(DType output) {
    switch (output) {
        // One rounding of the result: half a unit in the last place at the largest magnitude, and
        // about a quarter of that on average. It matters if eager happens to be exact.
        case DType::bf16:
            return {0x1p-8, 0x1p-10};
        case DType::f16:
            return {0x1p-11, 0x1p-13};
        // Eager's f32 sums of few terms are nearly exact; a product of split operands always leaves
        // out the product of the low parts, about 2^-22 of the whole.
        case DType::f32:
            return {1e-6, 1e-6};
        case DType::f64:
            return {1e-13, 1e-13};
        case DType::boolean:
        case DType::u8:
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64:
            return {0, 0};
    }
    throw InternalError("an element type without a tolerance");
}

Grain grain_of(DType output, bool tf32) {
    switch (output) {
        case DType::bf16:
            return {floor_of(output), 0x1p-9, 0x1p-126};
        case DType::f16:
            return {floor_of(output), 0x1p-12, 0x1p-24};
        case DType::f32:
            if (tf32) return {floor_of(DType::f16), 0x1p-12, 0x1p-126};
            [[fallthrough]];  // splitting f32 operands loses as much as the floor allows
        case DType::f64:
        case DType::boolean:
        case DType::u8:
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64:
            return {floor_of(output), floor_of(output).rms, 0x1p-126};
    }
    throw InternalError("an element type without a grain");
}

std::string judge(const Difference& eager, const Difference& kernel, DType output) {
    if (kernel.wrong_nan > 0)
        return fmt::format("NaN is missing or unexpected in {} elements", kernel.wrong_nan);
    if (kernel.wrong_infinity > 0)
        return fmt::format("infinity is missing, unexpected or of the wrong sign in {} elements",
                           kernel.wrong_infinity);
    const auto allowed = relative(eager), floor = floor_of(output), actual = relative(kernel);
    const double largest = std::max(2 * allowed.largest, floor.largest);
    const double rms = std::max(2 * allowed.rms, floor.rms);
    if (!(actual.largest <= largest))
        return fmt::format("largest error {:.3g}, at most {:.3g} is allowed", actual.largest,
                           largest);
    if (!(actual.rms <= rms))
        return fmt::format("root mean square error {:.3g}, at most {:.3g} is allowed", actual.rms,
                           rms);
    return {};
}

}  // namespace fact::verify
