// A convolution that a test builds.
#pragma once

#include <gtest/gtest.h>

#include "built_kernel.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {

// y[B, F, P, Q] = w[F, C, R, S] over x[B, C, H, W], with windows of 3 x 3.
struct Convolution : Fixture {
    ir::DimId batch = kernel.dim("B"), f = kernel.dim("F"), c, h = kernel.dim("H"),
              w = kernel.dim("W");
    ir::DimId r = named("R", 3), s = named("S", 3);
    DType dtype = DType::f32;
    ir::WindowRule along_h{h, r, 1, 1, 1, 1}, along_w{w, s, 1, 1, 1, 1};
    ir::Precision precision = ir::Precision::exact;
    ir::DimId p{}, q{};

    Convolution(std::string name, std::int64_t channels)
        : Fixture(std::move(name)), c(named("C", channels)) {}
    ir::DimId named(const char* name, std::int64_t extent) {
        kernel.dims.push_back({name, extent > 0 ? std::optional(extent) : std::nullopt});
        return static_cast<ir::DimId>(kernel.dims.size() - 1);
    }
    ir::ExprId result() { return of(param("x", dtype, {batch, c, h, w})); }
    ir::ExprId of(ir::ExprId images) {
        kernel.dims.push_back({"P", {}, {}, along_h});
        kernel.dims.push_back({"Q", {}, {}, along_w});
        p = kernel.dim("P"), q = kernel.dim("Q");
        const ir::ExprId weights = param("w", dtype, {f, c, r, s});
        const ir::DimId sum = kernel.factored_dim({r, s, c});
        const ir::ExprId windows = b.permute(b.window(images, {p, q}), {batch, r, s, c, p, q});
        const ir::ExprId acc =
            b.product(b.view(b.permute(weights, {f, r, s, c}), {f, sum}),
                      b.view(windows, {batch, sum, kernel.factored_dim({p, q})}), precision);
        kernel.exprs[ir::index(acc)].name = "acc";
        return b.binary(ir::BinaryOp::add, b.view(acc, {batch, f, p, q}),
                        param("bias", DType::f32, {f}));
    }
    Pipeline cut(LowerOptions options = {}) {
        output("y", dtype, result());
        EXPECT_EQ(ir::verify(kernel), "");
        return *stages(kernel, options);
    }
    // The dimensions of what is stored between the stages, in words.
    std::vector<std::string> stored(LowerOptions options = {}) {
        const Pipeline pipeline = cut(std::move(options));
        std::vector<std::string> all;
        for (const ir::Tensor& tensor : pipeline.intermediates) {
            std::string dims;
            for (const ir::DimId dim : tensor.type.dims)
                dims += (dims.empty() ? "" : ", ") + pipeline.kernel[dim].name;
            all.push_back(dims);
        }
        return all;
    }
};

}  // namespace fact::lower
