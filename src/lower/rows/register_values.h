// Which values along a row are held in registers instead of being computed again.
#pragma once

#include <set>

#include "lower/rows/rows_form.h"

namespace fact::lower {

// Values that several passes over the row (reductions and outputs) need and that cost more than a
// few instructions, such as an exponential that is summed and then divided.
std::set<ir::ExprId> values_in_registers(const ir::Kernel& kernel, const RowsForm& form);

}  // namespace fact::lower
