// Readable names for kernels and their parameters.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// The dimensions of the product's rows and columns.
struct MatrixDims {
    ir::DimId m{}, n{};
};

// "linear_bias_gelu_tanh": the rule, then the tags of the expressions the outputs need, in order.
// A tag is said once in a row, and a long name ends in "etc".
std::string kernel_name(const std::string& base, const ir::Kernel& kernel,
                        const std::vector<std::string>& tags);

// What combining the product with another operand is called: "bias" for adding a row, "residual"
// for adding a matrix, "scale" for multiplying by a number, ...; `op` is the operator's own tag.
std::string combination_tag(std::string_view op, const MatrixDims& matrix,
                            const std::vector<ir::DimId>& dims);

// A side operand's name from the operator that reads it, its argument there and its dims.
std::string side_name(std::string_view op, std::string_view argument, DType dtype,
                      const MatrixDims& matrix, const std::vector<ir::DimId>& dims);

}  // namespace fact::match
