// Readable names for kernels and their parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// The dimensions of the product's rows and columns.
struct MatrixDims {
    ir::DimId m{}, n{};
};

// "linear_bias_gelu_tanh": the base name, then the tags of the expressions the outputs need, in
// order. Consecutive equal tags are merged, and a name with more than five tags ends in "etc".
std::string kernel_name(const std::string& base, const ir::Kernel& kernel,
                        const std::vector<std::string>& tags);

// The tag of an operator that combines the product with an operand of these dimensions: "bias" for
// adding a row, "residual" for adding a matrix, "scale" for multiplying by a number, ..., else the
// operator's own `tag`.
std::string combination_tag(std::string_view tag, const MatrixDims& matrix,
                            const std::vector<ir::DimId>& dims);

// The name of a side operand of these dimensions, which an operator with this tag reads as
// `argument`.
std::string side_name(std::string_view tag, std::string_view argument, DType dtype,
                      const MatrixDims& matrix, const std::vector<ir::DimId>& dims);

}  // namespace fact::match
