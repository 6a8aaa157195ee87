// Which values along a row are worth registers of their own.
#pragma once

#include <set>

#include "lower/rows/rows_form.h"

namespace fact::lower {

// Values that several passes over the row (reductions and outputs) need and that cost more than a
// few instructions: an exponential, say, that is summed and then divided.
std::set<ir::ExprId> kept_values(const ir::Kernel& kernel, const RowsForm& form);

}  // namespace fact::lower
