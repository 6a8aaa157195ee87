#include "ir/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fact::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double reduce_row(ReduceOp op, const double* row, std::int64_t length) {
    double result = op == ReduceOp::sum ? 0 : op == ReduceOp::max ? -kInfinity : kInfinity;
    for (std::int64_t i = 0; i < length; ++i) {
        const double x = row[i];
        if (op == ReduceOp::sum)
            result += x;
        else if (std::isnan(x) || (op == ReduceOp::max ? x > result : x < result))
            result = x;
        if (op != ReduceOp::sum && std::isnan(result)) return result;
    }
    return result;
}

}  // namespace

std::vector<double> reduce_rows(ReduceOp op, const std::vector<double>& values, std::int64_t rows,
                                std::int64_t length) {
    std::vector<double> results(rows);
    for (std::int64_t r = 0; r < rows; ++r)
        results[r] = reduce_row(op, values.data() + r * length, length);
    return results;
}

void softmax_rows(std::vector<double>& values, std::int64_t rows, std::int64_t length) {
    for (std::int64_t r = 0; r < rows; ++r) {
        double* row = values.data() + r * length;
        const double largest = reduce_row(ReduceOp::max, row, length);
        double sum = 0;
        for (std::int64_t i = 0; i < length; ++i) sum += row[i] = std::exp(row[i] - largest);
        for (std::int64_t i = 0; i < length; ++i) row[i] /= sum;
    }
}

}  // namespace fact::ir
