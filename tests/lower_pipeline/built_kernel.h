// A kernel that a test builds, over dimensions M, N and K.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

struct Fixture {
    ir::Kernel kernel;
    ir::Builder b{kernel};
    ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), k = kernel.dim("K");

    explicit Fixture(std::string name) { kernel.name = std::move(name); }
    ir::ExprId param(const std::string& name, DType dtype, std::vector<ir::DimId> dims) {
        kernel.params.push_back({name, {dtype, std::move(dims)}, {}});
        return b.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    void output(const std::string& name, DType dtype, ir::ExprId value) {
        kernel.outputs.push_back({{name, {dtype, kernel[value].type.dims}, {}}, value});
    }
    ir::ExprId softmax(ir::ExprId x, ir::DimId over) {
        const ir::ExprId largest = b.reduce(ir::ReduceOp::max, x, {over});
        const ir::ExprId e = b.unary(ir::UnaryOp::exp, b.binary(ir::BinaryOp::sub, x, largest));
        return b.binary(ir::BinaryOp::div, e, b.reduce(ir::ReduceOp::sum, e, {over}));
    }
};

}  // namespace fact::lower
