// The launch record of a row kernel, and what it shares with the emitted text.
#pragma once

#include "lower/rows/rows_form.h"
#include "target/launch_record.h"

namespace fact::lower {

// The dimensions whose extents are members of the arguments, in their order: all that are no
// constants.
std::vector<ir::DimId> extent_fields(const ir::Kernel& kernel, const RowsForm& form);

// Whether a row is short enough, and known to be, for one thread.
bool in_one_thread(const ir::Kernel& kernel, const RowsForm& form);

LaunchRecord rows_record(const ir::Kernel& kernel, const RowsForm& form, std::string_view arch);

}  // namespace fact::lower
