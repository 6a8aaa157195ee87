// Sums along the rows of a product's first operand, which its kernel takes beside the product:
// what a norm needs that stands before it.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// sum(x) or sum(x * x) of a parameter, over one dimension.
struct RowSum {
    ir::ExprId value{};
    std::uint32_t param = 0;
    ir::DimId over{};
    bool squares = false;
};

// Nothing for whatever else a value may be.
std::optional<RowSum> row_sum(const ir::Kernel& kernel, ir::ExprId id);

// Those values of an epilogue (operands first) that follow from row sums, numbers and extents
// alone: the same for a whole row.
std::set<ir::ExprId> same_for_a_row(const ir::Kernel& kernel,
                                    const std::vector<ir::ExprId>& epilogue);

}  // namespace fact::lower
