// Batched f64 matrix products for the interpreter.
#pragma once

#include <cstdint>
#include <vector>

namespace fact::ir {

// The matrices of one product of the batch, by index: a[item.a] @ transposed(b[item.b]).
struct BatchItem {
    std::int64_t a = 0, b = 0;
};

// a: matrices [m, k]; b: matrices [n, k], each contiguous and one after another. Returns
// [batch, m, n].
std::vector<double> matmul(const std::vector<double>& a, const std::vector<double>& b,
                           const std::vector<BatchItem>& batch, std::int64_t m, std::int64_t n,
                           std::int64_t k, int threads);

}  // namespace fact::ir
