#include "ir/reduction.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace fact::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The element that `wins` over all others, or NaN if the row has one.
template <class Wins>
double extremum(std::span<const double> row, double of_empty, Wins wins) {
    double result = of_empty;
    for (const double x : row) {
        if (std::isnan(x)) return x;
        if (wins(x, result)) result = x;
    }
    return result;
}

double reduce_row(ReduceOp op, std::span<const double> row) {
    switch (op) {
        case ReduceOp::sum:
            return std::accumulate(row.begin(), row.end(), 0.0);
        case ReduceOp::max:
            return extremum(row, -kInfinity, std::greater{});
        case ReduceOp::min:
            return extremum(row, kInfinity, std::less{});
    }
    throw InternalError("a reduction that the interpreter does not know");
}

}  // namespace

std::vector<double> reduce_rows(ReduceOp op, const std::vector<double>& values, std::int64_t rows,
                                std::int64_t length) {
    std::vector<double> results(rows);
    for (std::int64_t r = 0; r < rows; ++r)
        results[r] = reduce_row(op, {values.data() + r * length, static_cast<std::size_t>(length)});
    return results;
}

void scan_rows(ScanOp op, bool backwards, std::vector<double>& values, std::int64_t rows,
               std::int64_t length) {
    const auto scan = [&](auto combine) {
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::span row(values.data() + r * length, static_cast<std::size_t>(length));
            if (backwards)
                std::partial_sum(row.rbegin(), row.rend(), row.rbegin(), combine);
            else
                std::partial_sum(row.begin(), row.end(), row.begin(), combine);
        }
    };
    switch (op) {
        case ScanOp::sum:
            return scan(std::plus{});
        case ScanOp::product:
            return scan(std::multiplies{});
    }
    throw InternalError("a scan that the interpreter does not know");
}

void softmax_rows(std::vector<double>& values, std::int64_t rows, std::int64_t length) {
    for (std::int64_t r = 0; r < rows; ++r) {
        double* row = values.data() + r * length;
        const double largest = reduce_row(ReduceOp::max, {row, static_cast<std::size_t>(length)});
        double sum = 0;
        for (std::int64_t i = 0; i < length; ++i) sum += row[i] = std::exp(row[i] - largest);
        for (std::int64_t i = 0; i < length; ++i) row[i] /= sum;
    }
}

}  // namespace fact::ir
