// Between our element types and tensors and torch's.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "graph/pt2_archive.h"
#include "target/dtype.h"

namespace fact::exec {

c10::ScalarType scalar_type(DType dtype);
// Nothing for element types the project does not know (complex, 8-bit floating, quantised).
std::optional<DType> dtype_of(c10::ScalarType type);

// "2, 128, s3": symbolic sizes by their names. Messages are put together by fmt, so that no number
// goes through torch's C++ library where this one was built with another.
std::string sizes_text(const at::Tensor& tensor);

// A copy of the weight's bytes, with its sizes and strides.
at::Tensor load_weight(const graph::Weight& weight);

}  // namespace fact::exec
