// Numbers of each row that a product's epilogue reads, as far as they follow from sums along the
// rows of the first operand: the product's own kernel finds them (kernels/sm90/row_statistics.cuh).
#pragma once

#include <optional>
#include <vector>

#include "emit/code_writer.h"
#include "ir/kernel.h"

namespace fact::lower {

struct RowStatistics {
    ir::Kernel kernel;  // from the rows, its only parameter, to the numbers
    ir::ExprId sum{};   // along a row
    // Along a row, of the squared distances from the mean: then `sum` is the row's own.
    std::optional<ir::ExprId> squares = {};
    std::vector<int> params;  // of the product's kernel: where it reads the numbers
};

// What the row kernel computes as statistics, which a product reads at `params`; nothing where it
// is something else.
std::optional<RowStatistics> row_statistics(const ir::Kernel& rows, std::vector<int> params);

// `struct RowValues { ... }`.
void emit_row_values(emit::CodeWriter& writer, const RowStatistics& statistics);

}  // namespace fact::lower
