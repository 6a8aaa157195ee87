// The two ways a row kernel is written.
#pragma once

#include <string>

#include "lower/rows/vector_form.h"

namespace fact::lower {

// Over kernels/common/rows.cuh.
std::string element_rows_source(const ir::Kernel& kernel, const RowsForm& form);
// Over kernels/common/vector_rows.cuh; `kernel` has the row's length as a constant.
std::string vector_rows_source(const ir::Kernel& kernel, const VectorForm& form);

}  // namespace fact::lower
