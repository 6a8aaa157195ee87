// A kernel seen as what the row skeleton computes: pointwise values, reductions and a running sum,
// all over the same dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::lower {

struct RowsForm {
    std::vector<ir::DimId> rows;  // dimensions that number the rows; factored ones are split
    std::vector<ir::DimId> over;  // dimensions along a row; empty: a row is a single element
    // The only running sum or product. It goes along a row in the order of `over`, and what is
    // computed from it varies along the row.
    std::optional<ir::ExprId> scan = {};
    // What is computed, operands first. What a window reads is not part of it.
    std::vector<ir::ExprId> order;
    bool narrow = false;  // rows are numbered in 32 bits: the launcher checks that they are few

    bool has_windows(const ir::Kernel& kernel) const;
};

// The parameter that a window reads, perhaps reordered; nullopt if the node is not a window or
// reads something else.
std::optional<std::uint32_t> windowed_param(const ir::Kernel& kernel, ir::ExprId id);

// An Error names what the row skeleton cannot express.
Result<RowsForm> rows_form(const ir::Kernel& kernel);

}  // namespace fact::lower
