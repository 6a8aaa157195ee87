// Values per row that a product's epilogue reads and that are computed from sums along the rows of
// the first operand: the product's kernel computes them itself (kernels/sm90/row_statistics.cuh).
#pragma once

#include <optional>
#include <vector>

#include "emit/code_writer.h"
#include "ir/kernel.h"

namespace fact::lower {

struct RowStatistics {
    ir::Kernel kernel;  // computes the values from the rows, its only parameter
    ir::ExprId sum{};   // along a row, of a value computed from each element
    // The sum of squared distances from the mean, if there is one; then `sum` adds up the elements
    // themselves.
    std::optional<ir::ExprId> squares = {};
    std::vector<int> params;  // parameters of the product's kernel that the values replace
};

// The row kernel as statistics, which a product reads as its parameters `params`; nullopt if the
// row kernel computes something else.
std::optional<RowStatistics> row_statistics(const ir::Kernel& rows, std::vector<int> params);

// `struct RowValues { ... }`.
void emit_row_values(emit::CodeWriter& writer, const RowStatistics& statistics);

}  // namespace fact::lower
