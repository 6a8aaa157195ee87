// A kernel seen as what the row skeleton computes: pointwise values and reductions, all over the
// same dimensions.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::lower {

struct RowsForm {
    std::vector<ir::DimId> rows;    // dimensions that number the rows; factored ones are split
    std::vector<ir::DimId> over;    // dimensions along a row; empty: a row is a single element
    std::vector<ir::ExprId> order;  // what is computed, operands first
};

// An Error names what the row skeleton cannot express.
Result<RowsForm> rows_form(const ir::Kernel& kernel);

}  // namespace fact::lower
