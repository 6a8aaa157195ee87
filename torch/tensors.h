// Conversions between our element types and weights and torch's.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <string>

#include "graph/pt2_archive.h"
#include "target/dtype.h"

namespace fact::exec {

c10::ScalarType scalar_type(DType dtype);
// nullopt for element types that DType does not have (complex, 8-bit floating, quantised).
std::optional<DType> dtype_of(c10::ScalarType type);

// "2, 128, s3": symbolic sizes by their names. Numbers in messages are formatted by fmt and not by
// torch, which may have been built with another C++ library.
std::string sizes_text(const at::Tensor& tensor);

// The error's message, without the C++ frames that torch adds, which tell a user nothing.
std::string message_of(const std::exception& error);

// A copy of the weight's bytes, with its sizes and strides.
at::Tensor load_weight(const graph::Weight& weight);

}  // namespace fact::exec
