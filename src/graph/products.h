// Matrix products among torch's operators, and what their arguments are called.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fact::graph {

// The layout of the second operand: [K, N], [N, K], or specific to the operator.
enum class SecondOperand { kn, nk, other };

// How the operands are to be interpreted.
enum class ProductForm { matrices, linear, convolution, einsum };

// In the names of kernels: "matmul", "linear".
std::string_view name(ProductForm form);

struct ProductOp {
    std::string_view target;  // "aten.linear.default"
    std::string_view rule;    // "linear": its name in reports and in the names of kernels
    std::string_view a, b;    // names of the arguments; "" for an einsum, whose operands are a list
    std::string_view addend;  // name of the argument that is added; "" if there is none
    SecondOperand layout = SecondOperand::kn;
    ProductForm form = ProductForm::matrices;
};

// The table's row for a node, or nullptr.
const ProductOp* find_product(const Node& node);

}  // namespace fact::graph
