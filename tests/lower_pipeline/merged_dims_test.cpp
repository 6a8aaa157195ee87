// Stages of products in the product's own dimensions.
#include "lower/pipeline/merged_dims.h"

#include <gtest/gtest.h>

#include "../golden.h"
#include "built_kernel.h"
#include "ir/dump.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;

struct Heads : Fixture {
    using Fixture::Fixture;
    ir::DimId t = kernel.dim("T"), h = kernel.dim("H"), d = kernel.dim("D");
    ir::DimId rows = kernel.factored_dim({m, t}), columns = kernel.factored_dim({h, d});
};

TEST(MergedDims, FindsRunsInATensor) {
    Heads f("runs");
    const auto merged = merged_dims(f.kernel, {f.m, f.t, f.h, f.d}, {f.rows, f.columns});
    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->dims, (std::vector{f.rows, f.columns}));
    EXPECT_EQ(merged->runs, (std::vector{2, 2}));
    const auto other = merged_dims(f.kernel, {f.h, f.d, f.k}, {f.k, f.rows, f.columns});
    ASSERT_TRUE(other);
    EXPECT_EQ(other->dims, (std::vector{f.columns, f.k}));
    EXPECT_EQ(other->runs, (std::vector{2, 1}));
    EXPECT_FALSE(merged_dims(f.kernel, {f.t, f.m}, {f.rows}));  // not in this order in memory
    EXPECT_FALSE(merged_dims(f.kernel, {f.m, f.h, f.d}, {f.rows, f.columns}));
}

// A projection of merged tokens, with a residual of their own shape and an output by heads.
TEST(MergedDims, EpiloguesAreComputedInTheProductsDimensions) {
    Heads f("heads");
    const auto x = f.param("x", DType::bf16, {f.m, f.t, f.k});
    const auto w = f.param("w", DType::bf16, {f.columns, f.k});
    const auto r = f.param("r", DType::bf16, {f.m, f.t, f.h, f.d});
    const auto acc = f.b.product(f.b.view(x, {f.rows, f.k}), f.b.transpose(w));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::add, f.b.view(acc, {f.m, f.t, f.h, f.d}), r));
    ASSERT_EQ(ir::verify(f.kernel), "");
    const auto cut_stages = stages(f.kernel, {});
    ASSERT_TRUE(cut_stages.ok()) << cut_stages.error().text();
    ASSERT_EQ(cut_stages->stages.size(), 1u);
    const Stage& stage = cut_stages->stages.front();
    EXPECT_EQ(stage.merged, (std::vector<std::vector<int>>{{2, 2}, {2, 1}, {1, 1}, {2, 2}}));
    expect_golden("heads.txt", ir::dump(stage.kernel));
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    EXPECT_EQ(lowered->record.views,
              (std::vector<MergedView>{{2, {2, 2}}, {0, {2, 1}}, {3, {2, 2}}}));
}

// Part of the rows' dimension alone is no dimension of the product: that stays a kernel of its own.
TEST(MergedDims, WhatNeedsTheFactorsIsAnotherStage) {
    Heads f("scaled");
    const auto x = f.param("x", DType::bf16, {f.rows, f.k});
    const auto w = f.param("w", DType::bf16, {f.n, f.k});
    const auto scale = f.param("s", DType::f32, {f.t});
    const auto acc = f.b.view(f.b.product(x, f.b.transpose(w)), {f.m, f.t, f.n});
    f.output("y", DType::f32, f.b.binary(BinaryOp::mul, acc, scale));
    ASSERT_EQ(ir::verify(f.kernel), "");
    const auto cut_stages = stages(f.kernel, {});
    ASSERT_TRUE(cut_stages.ok()) << cut_stages.error().text();
    ASSERT_EQ(cut_stages->stages.size(), 2u);
    EXPECT_TRUE(cut_stages->stages.back().merged.empty());
}

// relu(x.window(...) @ w) over images [B, H, W, C].
ir::Kernel convolution(std::int64_t channels, DType dtype, std::int64_t stride) {
    ir::Kernel kernel;
    kernel.name = "convolution";
    ir::Builder b(kernel);
    const auto n = kernel.dim("B"), h = kernel.dim("H"), w = kernel.dim("W"), f = kernel.dim("F");
    const auto c = kernel.dim(std::to_string(channels));
    const auto r = kernel.dim("3"), s = kernel.dim("5");
    kernel.dims.push_back({"P", {}, {}, ir::WindowRule{h, r, stride, 1, 1, 1}});
    kernel.dims.push_back({"Q", {}, {}, ir::WindowRule{w, s, 1, 1, 2, 2}});
    const auto p = kernel.dim("P"), q = kernel.dim("Q");
    kernel.params = {{"x", {dtype, {n, h, w, c}}, {}}, {"w", {dtype, {f, r, s, c}}, {}}};
    const auto taps = b.permute(b.window(b.param(0), {p, q}), {n, p, q, r, s, c});
    const auto rows = kernel.factored_dim({n, p, q}), depth = kernel.factored_dim({r, s, c});
    const auto acc =
        b.product(b.view(taps, {rows, depth}), b.transpose(b.view(b.param(1), {f, depth})));
    const auto y = b.unary(ir::UnaryOp::relu, b.view(acc, {n, p, q, f}));
    kernel.outputs = {{{"y", {dtype, {n, p, q, f}}, {}}, y}};
    return kernel;
}

std::size_t num_stages(const ir::Kernel& kernel, const std::string& arch) {
    LowerOptions options;
    options.arch = arch;
    const auto lowered = lower(kernel, options);
    EXPECT_TRUE(lowered.ok()) << lowered.error().text();
    const auto cut_stages = stages(kernel, options);
    return cut_stages.ok() ? cut_stages->stages.size() : 0;
}

TEST(MergedDims, ProductsReadWindows) {
    const ir::Kernel kernel = convolution(96, DType::bf16, 2);
    ASSERT_EQ(ir::verify(kernel), "");
    const auto lowered = lower(kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("convolution.cu", lowered->source);
    expect_golden("convolution.json", to_json(lowered->record));
    EXPECT_EQ(inconsistency(lowered->record), "");
}

// What no tensor map can walk is copied into a matrix first.
TEST(MergedDims, OtherWindowsAreCopied) {
    EXPECT_EQ(num_stages(convolution(96, DType::bf16, 1), "sm90a"), 1u);
    EXPECT_EQ(num_stages(convolution(96, DType::f32, 1), "sm90a"), 1u);
    EXPECT_EQ(num_stages(convolution(96, DType::bf16, 1), "sm80"), 2u);
    EXPECT_EQ(num_stages(convolution(96, DType::bf16, 9), "sm90a"), 2u);  // the stride
    EXPECT_EQ(num_stages(convolution(6, DType::bf16, 3), "sm90a"), 2u);   // rows of 12 bytes
    EXPECT_EQ(num_stages(convolution(16, DType::f32, 3), "sm90a"), 2u);   // half a block of B
    EXPECT_EQ(num_stages(convolution(48, DType::f32, 1), "sm90a"), 2u);
}

}  // namespace
}  // namespace fact::lower
