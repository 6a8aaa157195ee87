#include "tools/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ir/number.h"
#include "support/result.h"

namespace fact::tools {
namespace {

// The largest error that agrees, relative to the largest expected magnitude.
double allowed_error(DType dtype) {
    switch (dtype) {
        case DType::bf16:
            return 0x1p-6;
        case DType::f16:
            return 0x1p-9;
        case DType::f32:
        case DType::f64:
            return 1e-5;
        case DType::boolean:
        case DType::u8:
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64:
            return 0;
    }
    throw InternalError("an element type without a tolerance");
}

double value_at(const HostTensor& tensor, std::int64_t i) {
    double value = 0;
    ir::load(tensor.data.data(), tensor.dtype, i, 1, 1, &value);
    return value;
}

// The indices of element `i` of a contiguous tensor.
std::vector<std::int64_t> indices_of(const std::vector<std::int64_t>& sizes, std::int64_t i) {
    std::vector<std::int64_t> indices(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0; i /= sizes[d]) indices[d] = i % sizes[d];
    return indices;
}

}  // namespace

Comparison compare(const HostTensor& found, const HostTensor& expected) {
    Comparison result;
    result.allowed = allowed_error(expected.dtype);
    if (found.sizes != expected.sizes) {
        result.what = fmt::format("its sizes are [{}] instead of [{}]",
                                  fmt::join(found.sizes, ", "), fmt::join(expected.sizes, ", "));
        return result;
    }
    double largest = 0, worst = 0;
    std::int64_t where = -1;
    for (std::int64_t i = 0; i < expected.count(); ++i) {
        const double a = value_at(found, i), b = value_at(expected, i);
        if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        const double error = same                                   ? 0
                             : std::isfinite(a) && std::isfinite(b) ? std::abs(a - b)
                                                                    : INFINITY;
        if (error > worst) {
            worst = error;
            where = i;
        }
    }
    result.error = worst == 0 ? 0 : worst / (largest > 0 ? largest : 1);
    result.agrees = result.error <= result.allowed;
    result.what = where < 0 ? "the same"
                            : fmt::format("largest error {:.3g} at [{}]: {:.6g} instead of {:.6g}",
                                          worst, fmt::join(indices_of(expected.sizes, where), ", "),
                                          value_at(found, where), value_at(expected, where));
    return result;
}

}  // namespace fact::tools
