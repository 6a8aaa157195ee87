// A kernel seen as what the row skeleton computes: pointwise values and reductions, all over the
// same dimensions.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::lower {

struct RowsForm {
    std::vector<ir::DimId> rows;    // one row for each choice of these; products taken apart
    std::vector<ir::DimId> over;    // what a row is made of; empty: a single element
    std::vector<ir::ExprId> order;  // what is computed, operands first
};

// An Error names what the skeleton cannot express.
Result<RowsForm> rows_form(const ir::Kernel& kernel);

}  // namespace fact::lower
