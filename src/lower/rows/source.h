// The two kinds of emitted row kernels.
#pragma once

#include <string>

#include "lower/rows/vector_form.h"

namespace fact::lower {

// For rows of any length and layout, with kernels/common/rows.cuh.
std::string element_rows_source(const ir::Kernel& kernel, const RowsForm& form);
// For rows in registers, with kernels/common/vector_rows.cuh; `kernel` has the row's length as a
// constant.
std::string vector_rows_source(const ir::Kernel& kernel, const VectorForm& form);

}  // namespace fact::lower
