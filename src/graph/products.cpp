#include "graph/products.h"

#include <algorithm>
#include <array>

#include "support/result.h"

namespace fact::graph {

namespace {

constexpr std::array<ProductOp, 10> kProducts{{
    {"aten.linear.default", "linear", "input", "weight", "bias", SecondOperand::nk,
     ProductForm::linear},
    {"aten.addmm.default", "addmm", "mat1", "mat2", "self"},
    {"aten.mm.default", "mm", "self", "mat2", ""},
    {"aten.bmm.default", "bmm", "self", "mat2", ""},
    {"aten.baddbmm.default", "baddbmm", "batch1", "batch2", "self"},
    {"aten.matmul.default", "matmul", "self", "other", ""},
    {"aten.conv1d.default", "conv", "weight", "input", "bias", SecondOperand::other,
     ProductForm::convolution},
    {"aten.conv2d.default", "conv", "weight", "input", "bias", SecondOperand::other,
     ProductForm::convolution},
    {"aten.conv3d.default", "conv", "weight", "input", "bias", SecondOperand::other,
     ProductForm::convolution},
    {"aten.einsum.default", "einsum", "", "", "", SecondOperand::other, ProductForm::einsum},
}};

}  // namespace

std::string_view name(ProductForm form) {
    switch (form) {
        case ProductForm::matrices:
        case ProductForm::einsum:
            return "matmul";
        case ProductForm::linear:
            return "linear";
        case ProductForm::convolution:
            return "conv";
    }
    throw InternalError("name: no such form of a product");
}

const ProductOp* find_product(const Node& node) {
    const auto row = std::ranges::find(kProducts, node.target, &ProductOp::target);
    return row == kProducts.end() ? nullptr : &*row;
}

}  // namespace fact::graph
