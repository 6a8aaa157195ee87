// Strides and broadcasts of every kind, on graphs written by hand.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::Net;
using testing::reason_for;
using Dims = std::vector<std::vector<int>>;

// The first line of the kernel that holds all: its signature.
std::string signature(const Pattern& pattern) {
    std::string text = pattern.kernel.substr(0, pattern.kernel.find('{'));
    std::string flat;
    for (const char c : text)
        if (c != '\n' && !(c == ' ' && (flat.empty() || flat.back() == ' '))) flat += c;
    return flat;
}

std::string from_body_on(const Pattern& pattern) {
    return pattern.kernel.substr(pattern.kernel.find("{\n") + 2);
}

TEST(Layout, RowsThatCannotMergeBecomeABatch) {
    Net net;
    const auto x = net.input("x", {4, 16, 48}, {1600, 64, 1});
    net.output(net.linear("y", x, net.weight("w", {96, 48})));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel linear(x: bf16[B, M, K], w: bf16[N, K]) -> (y: bf16[B, M, N]) ");
    EXPECT_EQ(found.patterns[0].problem.batch, 4);
    EXPECT_EQ(found.patterns[0].problem.m, 16);
}

TEST(Layout, ExpandedBatchIsMissingFromTheParameter) {
    Net net;
    const auto a = net.input("a", {4, 16, 48}, {1600, 64, 1});
    const auto b = net.input("b", {4, 48, 32}, {0, 32, 1});
    net.output(net.op("y", "bmm.default", {{"self", a}, {"mat2", b}}, {4, 16, 32}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel plain_matmul(a: bf16[B, M, K], b: bf16[K, N]) -> (y: bf16[B, M, N]) ");
    EXPECT_EQ(found.patterns[0].params[1].dims, (Dims{{1}, {2}}));
}

TEST(Layout, LeftOperandMayBeTheBroadcastOne) {
    Net net;
    const auto a = net.input("a", {16, 48});
    const auto b = net.input("b", {4, 48, 32});
    net.output(net.op("y", "matmul.default", {{"self", a}, {"other", b}}, {4, 16, 32}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel plain_matmul(a: bf16[M, K], b: bf16[B, K, N]) -> (y: bf16[B, M, N]) ");
}

TEST(Layout, DenseBatchesMerge) {
    Net net;
    const auto a = net.input("a", {2, 4, 16, 48});
    const auto b = net.input("b", {2, 4, 48, 32});
    net.output(net.op("y", "matmul.default", {{"self", a}, {"other", b}}, {2, 4, 16, 32}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel plain_matmul(a: bf16[B, M, K], b: bf16[B, K, N]) -> (y: bf16[B, M, N]) ");
    EXPECT_EQ(found.patterns[0].params[0].dims, (Dims{{0, 1}, {2}, {3}}));
    EXPECT_EQ(found.patterns[0].problem.batch, 8);
}

// A per-head scale keeps apart what the operands alone would let merge.
TEST(Layout, SideOperandKeepsBatchesApart) {
    Net net;
    const auto a = net.input("a", {2, 4, 16, 48});
    const auto b = net.input("b", {2, 4, 48, 32});
    const auto scale = net.input("heads", {4, 1, 1});
    const auto y = net.op("y", "matmul.default", {{"self", a}, {"other", b}}, {2, 4, 16, 32});
    net.output(net.pointwise("z", "mul.Tensor", y, scale));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel matmul_mul( a: bf16[B, H, M, K], b: bf16[B, H, K, N], scale: bf16[H]) -> ( "
              "y: bf16[B, H, M, N]) ");
}

TEST(Layout, BatchesThatCannotMergeStayApart) {
    Net net;
    const auto a = net.input("a", {2, 4, 8, 16, 48}, {100000, 20000, 1600, 64, 1});
    const auto b = net.input("b", {2, 4, 8, 48, 32});
    net.output(net.op("y", "matmul.default", {{"self", a}, {"other", b}}, {2, 4, 8, 16, 32}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel plain_matmul( a: bf16[B, H, B3, M, K], b: bf16[B, H, B3, K, N]) -> ( "
              "y: bf16[B, H, B3, M, N]) ");
}

TEST(Layout, OperandsMayNotEachLackABatch) {
    Net net;
    const auto a = net.input("a", {2, 1, 16, 48}, {2000, 2000, 64, 1});
    const auto b = net.input("b", {1, 4, 48, 32});
    net.output(net.op("y", "matmul.default", {{"self", a}, {"other", b}}, {2, 4, 16, 32}));
    EXPECT_EQ(reason_for(net.discover(), "y"), "each operand lacks a batch dimension of the other");
}

// A transposed result is the product of the transposed operands.
TEST(Layout, TransposedResultSwapsTheOperands) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto y = net.linear("y", x, net.weight("w", {96, 48}));
    const auto t = net.permute("t", y, {1, 0});
    net.output(net.op("z", "clone.default", {{"self", t}}, {96, 64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel linear(x: bf16[N, K], w: bf16[M, K]) -> (y: bf16[M, N]) ");
    EXPECT_EQ(from_body_on(found.patterns[0]), "  acc = w @ x.T\n  y   = acc\n}\n");
    EXPECT_EQ(found.patterns[0].problem.m, 96);
    EXPECT_EQ(found.patterns[0].outputs, std::vector<std::string>{"z"});
}

TEST(Layout, DimensionsOfExtentOneAreDropped) {
    Net net;
    const auto x = net.input("x", {1, 1, 48});
    net.output(net.linear("y", x, net.weight("w", {96, 48})));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) ");
    EXPECT_EQ(found.patterns[0].params[0].dims, (Dims{{1}, {2}}));
    EXPECT_EQ(found.patterns[0].problem.m, 1);
}

TEST(Layout, SingleColumnIsComputedAsARow) {
    Net net;
    const auto x = net.input("x", {64, 48});
    net.output(net.linear("y", x, net.weight("w", {1, 48})));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(signature(found.patterns[0]),
              "kernel linear(x: bf16[N, K], w: bf16[M, K]) -> (y: bf16[M, N]) ");
    EXPECT_EQ(found.patterns[0].results[0].dims, (Dims{{1}, {0}}));
    EXPECT_EQ(found.patterns[0].problem.n, 64);
}

TEST(Layout, ColumnScalarAndTransposedSideOperands) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto column = net.input("column", {64, 1}, {1, 1});
    const auto full = net.input("full", {64, 96}, {1, 64});
    net.dtype = DType::f32;
    const auto scalar = net.input("scalar", {});
    net.dtype = DType::bf16;
    auto y = net.linear("y", x, net.weight("w", {96, 48}));
    y = net.pointwise("y1", "mul.Tensor", y, column);
    y = net.pointwise("y2", "sub.Tensor", y, full);
    net.output(net.pointwise("y3", "mul.Tensor", y, scalar));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].kernel,
              "kernel linear_mul_sub_scale(\n"
              "    x: bf16[M, K],\n"
              "    w: bf16[N, K],\n"
              "    scale: bf16[M],\n"
              "    residual: bf16[N, M],\n"
              "    scale2: f32\n"
              ") -> (\n"
              "    y: bf16[M, N]\n"
              ") {\n"
              "  acc = x @ w.T\n"
              "  y   = (acc * scale - residual.T) * scale2\n"
              "}\n");
    EXPECT_EQ(found.patterns[0].problem.full_operands, 1);
}

TEST(Layout, StridedSideOperandEndsTheRegion) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto side = net.input("side", {64, 96}, {192, 2});
    const auto y = net.linear("y", x, net.weight("w", {96, 48}));
    const auto r = net.pointwise("r", "relu.default", y);
    net.output(net.pointwise("z", "add.Tensor", r, side));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (std::vector<std::string>{"y", "r"}));
    EXPECT_EQ(reason_for(found, "z"), "side has no contiguous dimension");
}

// Rows that no tensor map can address go to another skeleton; gaps within them to none.
TEST(Layout, AlignmentIsThatOfStartAndStrides) {
    Net net;
    const auto odd = net.input("odd", {64, 1001});
    net.output(net.linear("k", odd, net.weight("w", {96, 1001})));
    const auto x = net.input("x", {64, 48});
    net.output(net.linear("n", x, net.weight("wide", {1001, 48})));
    const auto shifted = net.input("shifted", {64, 48});
    net.graph[shifted].type->offset = 3;
    net.output(net.linear("o", shifted, net.weight("v", {96, 48})));
    const auto gaps = net.input("gaps", {64, 48}, {192, 2});
    net.output(net.linear("g", gaps, net.weight("u", {96, 48})));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 3u);
    EXPECT_EQ(found.patterns[0].params[0].alignment, 2);
    EXPECT_EQ(found.patterns[1].params[0].alignment, 16);
    EXPECT_EQ(found.patterns[1].results[0].alignment, 2);
    EXPECT_EQ(found.patterns[2].params[0].alignment, 2);
    EXPECT_EQ(reason_for(found, "g"), "gaps has no contiguous dimension");
}

// A convolution's kernel merges the dimensions of places: rows of 6 elements are no obstacle.
TEST(Layout, AlignmentOfImagesIsThatOfWholePlanes) {
    Net net;
    const auto x = net.input("x", {2, 24, 8, 8}), w = net.weight("w", {32, 24, 3, 3});
    const auto b = net.weight("b", {32});
    net.output(net.op("y", "conv2d.default",
                      {{"input", x},
                       {"weight", w},
                       {"bias", b},
                       {"stride", std::vector<std::int64_t>{1, 1}},
                       {"padding", std::vector<std::int64_t>{0, 0}},
                       {"dilation", std::vector<std::int64_t>{1, 1}},
                       {"groups", std::int64_t{1}}},
                      {2, 32, 6, 6}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].results[0].alignment, 16);
}

TEST(Layout, OtherTypesAndVectorsAreLeftAlone) {
    Net net;
    net.dtype = DType::f64;
    const auto a = net.input("a", {64, 48});
    net.output(net.linear("double", a, net.weight("w", {96, 48})));
    net.dtype = DType::bf16;
    const auto m = net.input("m", {64, 48}), v = net.input("v", {48});
    net.output(net.op("mv", "matmul.default", {{"self", m}, {"other", v}}, {64}));
    const auto varying = net.input("varying", {64, 48});
    net.graph[varying].type->dynamic = true;
    net.output(net.linear("dynamic", varying, net.weight("u", {96, 48})));
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "double"), "products of f64 are left to torch");
    EXPECT_EQ(reason_for(found, "mv"), "one of its operands is a vector");
    EXPECT_EQ(reason_for(found, "dynamic"), "the extents of varying vary at run time");
}

TEST(Layout, PrecisionOfF32FollowsTheOption) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {64, 48});
    net.output(net.linear("y", x, net.weight("w", {96, 48})));
    const auto exact = net.discover();
    ASSERT_EQ(exact.patterns.size(), 1u);
    EXPECT_TRUE(exact.patterns[0].problem.split);
    EXPECT_EQ(from_body_on(exact.patterns[0]), "  acc = x @ w.T\n  y   = acc\n}\n");
    const auto fast = net.discover({.tf32 = true});
    EXPECT_FALSE(fast.patterns.at(0).problem.split);
    EXPECT_EQ(from_body_on(fast.patterns[0]),
              "  acc = matmul(x, w.T, precision: tf32)\n  y   = acc\n}\n");
    EXPECT_NE(fast.patterns[0].family, exact.patterns[0].family);
}

// torch computes convolutions in TF32 by default, and products not: a kernel does as torch does.
TEST(Layout, ConvolutionsOfPointsFollowTheirOwnSetting) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {2, 48, 8, 8});
    const auto w = net.weight("w", {96, 48, 1, 1});
    net.output(net.op("conv", "conv2d.default", {{"input", x}, {"weight", w}}, {2, 96, 8, 8}));
    const auto a = net.input("a", {64, 48});
    net.output(net.linear("linear", a, net.weight("v", {96, 48})));
    const auto rounded = [&](Tf32 allowed) {
        std::string found;
        const auto discovery = net.discover({.tf32 = allowed});
        for (const auto& pattern : discovery.patterns) {
            const bool tf32 = pattern.kernel.find("precision: tf32") != std::string::npos;
            EXPECT_EQ(pattern.problem.split, !tf32) << pattern.kernel;
            if (tf32) found += pattern.rule + " ";
        }
        return found;
    };
    EXPECT_EQ(rounded({false, false}), "");
    EXPECT_EQ(rounded({false, true}), "conv ");
    EXPECT_EQ(rounded({true, false}), "linear ");
}

}  // namespace
}  // namespace fact::match
