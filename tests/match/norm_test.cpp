// Norms that stand alone: what is taken around them, and what is written.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::Net;
using testing::reason_for;
using Ints = std::vector<std::int64_t>;
using testing::Names;

constexpr std::int64_t kBatch = 2, kTokens = 40, kChannels = 192;

struct Rows : Net {
    graph::ValueId x = input("x", {kBatch, kTokens, kChannels});
    graph::ValueId r = input("r", {kBatch, kTokens, kChannels});
    graph::ValueId w = weight("w", {kChannels});

    graph::ValueId layer_norm(const std::string& name, graph::ValueId of) {
        return op(name, "layer_norm.default",
                  {{"input", of}, {"normalized_shape", Ints{kChannels}}, {"weight", w}},
                  graph[of].type->sizes);
    }
    graph::ValueId mean(const std::string& name, graph::ValueId of) {
        return op(name, "mean.dim", {{"self", of}, {"dim", Ints{-1}}, {"keepdim", true}},
                  {kBatch, kTokens, 1});
    }
    // Something no kernel computes.
    graph::ValueId foreign(const std::string& name, graph::ValueId of) {
        return op(name, "logcumsumexp.default", {{"self", of}, {"dim", std::int64_t{1}}},
                  graph[of].type->sizes);
    }
};

TEST(Norm, OneOperatorIsAPattern) {
    Rows net;
    net.output(net.layer_norm("n", net.x));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    const Pattern& p = found.patterns[0];
    EXPECT_EQ(p.id, "n00_layer_norm_rows");
    EXPECT_EQ(p.rule, "norm");
    EXPECT_EQ(p.extents.at("M"), kBatch * kTokens);
    EXPECT_EQ(p.extents.at("N"), kChannels);
    EXPECT_EQ(p.params[0].dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
    EXPECT_TRUE(p.params[1].constant);
    EXPECT_TRUE(found.left_alone.empty());
}

// A weight of 1 + w is made in the kernel.
TEST(Norm, WhatMakesItsWeightIsTakenAlong) {
    Rows net;
    const auto mean = net.mean("mean", net.pointwise("square", "mul.Tensor", net.x, net.x));
    const auto scale = net.pointwise("scale", "rsqrt.default", mean);
    const auto more = net.pointwise("more", "add.Tensor", net.w, 1.0);
    const auto normal = net.pointwise("normal", "mul.Tensor", net.x, scale);
    net.output(net.pointwise("y", "mul.Tensor", normal, more));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"square", "mean", "scale", "more", "normal", "y"}));
    EXPECT_NE(found.patterns[0].kernel.find("(w + 1.0)"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_TRUE(found.left_alone.empty());
}

// One that others read, too, is made once.
TEST(Norm, AWeightThatOthersReadIsLeft) {
    Rows net;
    const auto more = net.pointwise("more", "add.Tensor", net.w, 1.0);
    const auto norm = net.layer_norm("n", net.x);
    net.output(net.pointwise("y", "mul.Tensor", norm, more));
    net.output(more);
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"n", "y"}));
}

// The sum goes on beside the norm: it is a result too, and both are of the rounded sum.
TEST(Norm, ResidualSumIsWrittenAlong) {
    Rows net;
    const auto sum = net.pointwise("sum", "add.Tensor", net.x, net.r);
    net.output(net.layer_norm("n", sum));
    net.output(net.foreign("later", sum));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    const Pattern& p = found.patterns[0];
    EXPECT_EQ(p.nodes, (Names{"sum", "n"}));
    EXPECT_EQ(p.outputs, (Names{"sum", "n"}));
    EXPECT_EQ(body(p),
              "  s  = bf16(x + x2)\n"
              "  t1 = s - sum(s, over: N) / extent(N)\n"
              "  y  = t1 * rsqrt(sum(t1 * t1, over: N) / extent(N) + 1e-05) * w\n");
}

// To f32, statistics, back, weight: as models write it out.
TEST(Norm, StatisticsWrittenOutAreOne) {
    Rows net;
    net.dtype = DType::f32;
    const auto wide = net.pointwise("wide", "_to_copy.default", net.x);
    const auto square =
        net.op("square", "pow.Tensor_Scalar", {{"self", wide}, {"exponent", std::int64_t{2}}},
               {kBatch, kTokens, kChannels});
    const auto mean = net.mean("mean", square);
    const auto safe = net.pointwise("safe", "add.Tensor", mean, 1e-6);
    const auto scale = net.pointwise("scale", "rsqrt.default", safe);
    const auto normed = net.pointwise("normed", "mul.Tensor", wide, scale);
    net.dtype = DType::bf16;
    const auto narrow = net.pointwise("narrow", "_to_copy.default", normed);
    net.output(net.pointwise("n", "mul.Tensor", narrow, net.w));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes.size(), 8u);
    EXPECT_EQ(body(found.patterns[0]),
              "  y = bf16(x * rsqrt(sum(x * x, over: N) / extent(N) + 1e-06)) * w\n");
}

// A value that is summed twice on its way is no second result.
TEST(Norm, CentredRowsAreUsedTwice) {
    Rows net;
    net.dtype = DType::f32;
    const auto x = net.input("f", {kBatch, kTokens, kChannels});
    const auto centred = net.pointwise("centred", "sub.Tensor", x, net.mean("mean", x));
    const auto square = net.pointwise("square", "mul.Tensor", centred, centred);
    const auto scale = net.pointwise("scale", "rsqrt.default", net.mean("variance", square));
    net.output(net.pointwise("n", "mul.Tensor", centred, scale));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes,
              (Names{"mean", "centred", "square", "variance", "scale", "n"}));
}

// What lies beside the norm may not need its result.
TEST(Norm, NothingComesBack) {
    Rows net;
    const auto sum = net.pointwise("sum", "add.Tensor", net.x, net.r);
    const auto later = net.foreign("later", sum);
    const auto normed = net.layer_norm("n", sum);
    net.output(net.pointwise("both", "add.Tensor", normed, later));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"n", "both"}));  // the sum would be read by `later`
}

TEST(Norm, RowsMustLieInOnePieceAndFit) {
    Rows net;
    const auto turned = net.input("turned", {kTokens, kChannels}, {1, kTokens});
    net.output(net.op("a", "layer_norm.default",
                      {{"input", turned}, {"normalized_shape", Ints{kChannels}}},
                      {kTokens, kChannels}));
    const auto wide = net.input("wide", {8, 50000});
    net.output(net.op("b", "layer_norm.default",
                      {{"input", wide}, {"normalized_shape", Ints{50000}}}, {8, 50000}));
    const auto channels = net.input("channels", {8, 16});
    net.output(
        net.op("c", "mean.dim", {{"self", channels}, {"dim", Ints{1}}, {"keepdim", true}}, {8, 1}));
    const auto repeated = net.input("repeated", {8, 64}, {1, 0});
    net.output(net.op("d", "layer_norm.default",
                      {{"input", repeated}, {"normalized_shape", Ints{64}}}, {8, 64}));
    const auto found = net.discover();
    for (const auto& pattern : found.patterns) EXPECT_EQ(pattern.rule, "rows") << pattern.kernel;
    EXPECT_EQ(reason_for(found, "d"), "each of its rows is a single number");
}

// What varies with the batch alone keeps it apart from the tokens.
TEST(Norm, ModulationKeepsTheBatchApart) {
    Rows net;
    const auto scale = net.input("scale", {kBatch, 1, kChannels});
    net.output(net.pointwise("n", "mul.Tensor", net.layer_norm("normed", net.x), scale));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].kernel.substr(0, found.patterns[0].kernel.find(" {")),
              "kernel layer_norm_rows(x: bf16[B1, M, N], w: bf16[N], x2: bf16[B1, N]) -> "
              "(y: bf16[B1, M, N])");
}

}  // namespace
}  // namespace fact::match
