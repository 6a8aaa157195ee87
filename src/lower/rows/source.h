// The two kinds of emitted row kernels.
#pragma once

#include <string>

#include "lower/rows/vector_form.h"

namespace fact::lower {

// With kernels/common/rows.cuh.
std::string element_rows_source(const ir::Kernel& kernel, const RowsForm& form);
// With kernels/common/vector_rows.cuh; `kernel` has the row's length as a constant.
std::string vector_rows_source(const ir::Kernel& kernel, const VectorForm& form);

}  // namespace fact::lower
