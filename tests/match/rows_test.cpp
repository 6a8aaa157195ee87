// Regions without a product: what is taken together, and as which text.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::reason_for;
using testing::Sizes;

TEST(Rows, PointwiseOperatorsAreOneKernel) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {64, 128}), r = net.input("r", {64, 128});
    const auto gain = net.weight("gain", {128});
    const auto t = net.pointwise("t", "mul.Tensor", net.pointwise("a", "tanh.default", x), gain);
    net.output(net.pointwise("y", "add.Tensor", t, r));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_tanh_mul_residual"});
    EXPECT_EQ(body(found.patterns[0]), "  y = tanh(x) * scale + residual\n");
    EXPECT_EQ(found.patterns[0].rule, "rows");
}

TEST(Rows, OnePointwiseOperatorIsTorchs) {
    Net net;
    net.output(net.pointwise("y", "tanh.default", net.input("x", {64, 128})));
    EXPECT_TRUE(net.discover().patterns.empty());
}

// Values that others read are results beside the last one.
TEST(Rows, SeveralResultsAreWritten) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {4, 64, 128}), r = net.input("r", {4, 64, 128});
    const auto sum = net.pointwise("sum", "add.Tensor", x, r);
    net.output(sum);
    net.output(
        net.op("soft", "softmax.int", {{"self", sum}, {"dim", std::int64_t{-1}}}, {4, 64, 128}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].outputs, (Names{"soft", "sum"}));
    EXPECT_EQ(body(found.patterns[0]),
              "  y2 = x + residual\n"
              "  t1 = exp(y2 - max(y2, over: N))\n"
              "  y  = t1 / sum(t1, over: N)\n");
}

// Statistics over groups of channels, with an affine part by channel.
TEST(Rows, GroupsOfChannels) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {2, 64, 8, 8});
    const auto norm = net.op("norm", "group_norm.default",
                             {{"input", x},
                              {"num_groups", std::int64_t{32}},
                              {"weight", net.weight("weight", {64})},
                              {"bias", net.weight("bias", {64})}},
                             {2, 64, 8, 8});
    net.output(net.pointwise("y", "silu.default", norm));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_group_norm_silu"});
    EXPECT_EQ(body(found.patterns[0]),
              "  t1 = sum(x.view(B1, P, 2, N), over: [2, N]) / extent(2*N)\n"
              "  t2 = x.view(B1, P, 2, N) - t1\n"
              "  t3 = t2 * rsqrt(sum(t2 * t2, over: [2, N]) / extent(2*N) + 1e-05)\n"
              "  y  = silu(t3.view(B1, P*2, N) * weight + bias)\n");
}

// A batch norm of `x` whose running mean a call updates; returns its result.
graph::ValueId add_norm(Net& net, graph::ValueId x, const Sizes& sizes) {
    const auto running = net.input("running", {16}, {}, graph::InputKind::buffer);
    const auto norm = net.op("norm", "_native_batch_norm_legit.no_stats",
                             {{"input", x},
                              {"weight", graph::None{}},
                              {"bias", graph::None{}},
                              {"training", true},
                              {"momentum", 0.1},
                              {"eps", 1e-5}},
                             sizes);
    const auto mean = net.also(norm, "mean", {16});
    net.also(norm, "inverse", {16});
    const auto update =
        net.op("update", "lerp.Scalar", {{"self", running}, {"end", mean}, {"weight", 0.1}}, {16});
    net.graph.outputs.push_back({.value = update, .fixed = graph::None{}, .mutates = "running"});
    return norm;
}

// Torch would launch a kernel for each of these small operators.
TEST(Rows, UpdatesOfBuffersGoWithTheNorm) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {8, 16, 36});
    net.output(net.pointwise("y", "relu.default", add_norm(net, x, {8, 16, 36})));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].outputs, (Names{"y", "update"}));
    EXPECT_NE(body(found.patterns[0]).find("y2 = side + (t1 - side) * 0.1"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_TRUE(found.left_alone.empty());
}

TEST(Rows, UpdatesOfBuffersGoWithAProductBeforeTheNorm) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {256, 64}), w = net.weight("w", {16, 64});
    const auto product =
        net.op("product", "linear.default", {{"input", x}, {"weight", w}}, {256, 16});
    net.output(net.pointwise("y", "relu.default", add_norm(net, product, {256, 16})));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].nodes, (Names{"product", "norm", "update", "y"}));
    EXPECT_EQ(found.patterns[0].outputs, (Names{"y", "update"}));
}

// Whether a kernel that also updates a buffer pays is measured: the one without is there too.
TEST(Rows, AProductWithoutTheUpdateItCouldTakeIsOfferedToo) {
    Net net;
    net.dtype = DType::f32;
    const auto running = net.input("running", {16}, {}, graph::InputKind::buffer);
    const auto x = net.input("x", {256, 64}), w = net.weight("w", {16, 64});
    const auto y = net.pointwise("y", "relu.default", net.linear("product", x, w));
    net.output(y);
    const auto mean =
        net.op("mean", "mean.dim",
               {{"self", net.pointwise("square", "mul.Tensor", y, y)}, {"dim", Sizes{0}}}, {16});
    const auto update =
        net.op("update", "lerp.Scalar", {{"self", running}, {"end", mean}, {"weight", 0.1}}, {16});
    net.graph.outputs.push_back({.value = update, .fixed = graph::None{}, .mutates = "running"});
    const auto found = net.discover();
    std::vector<Names> nodes;
    for (const auto& pattern : found.patterns) nodes.push_back(pattern.nodes);
    EXPECT_TRUE(std::ranges::count(nodes, Names{"product", "y", "square", "mean", "update"}));
    EXPECT_TRUE(std::ranges::count(nodes, Names{"product", "y"}));
}

// Where everything only updates a buffer, there is nothing to take along.
TEST(Rows, AProductForABufferHasThatResultAlone) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {256, 64}), w = net.weight("w", {16, 64});
    const auto product =
        net.op("product", "linear.default", {{"input", x}, {"weight", w}}, {256, 16});
    const auto update = net.pointwise("update", "relu.default", product);
    net.graph.outputs.push_back({.value = update, .fixed = graph::None{}, .mutates = "queue"});
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].nodes, (Names{"product", "update"}));
    EXPECT_EQ(found.patterns[0].outputs, (Names{"update"}));
}

// A text without the update is there too, where one with it cannot be written.
TEST(Rows, AnUpdateThatNoKernelComputesCostsOnlyItself) {
    Net net;
    net.dtype = DType::f32;
    const auto running = net.input("running", {64, 128}, {}, graph::InputKind::buffer);
    const auto x = net.input("x", {64, 128}, {1, 64});
    const auto y = net.pointwise("y", "tanh.default", net.pointwise("a", "exp.default", x));
    net.output(y);
    const auto update = net.pointwise("update", "mul.Tensor", y, running);
    net.graph.outputs.push_back({.value = update, .fixed = graph::None{}, .mutates = "running"});
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(std::ranges::count(found.patterns[0].nodes, "y"), 1) << found.patterns[0].kernel;
}

// Bounds by row and by column: neither has all dimensions of the other.
TEST(Rows, BoundsOfAClampBroadcast) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {64, 128}), low = net.input("low", {64, 1});
    const auto raised = net.pointwise("raised", "exp.default", x);
    net.output(net.op("y", "clamp.Tensor",
                      {{"self", net.input("c", {128})}, {"min", low}, {"max", raised}}, {64, 128}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"raised", "y"}));
}

TEST(Rows, UpdatesOfBuffersAloneAreTorchs) {
    Net net;
    net.dtype = DType::f32;
    const auto running = net.input("running", {64, 128}, {}, graph::InputKind::buffer);
    const auto x = net.input("x", {64, 128});
    const auto twice = net.pointwise("twice", "mul.Tensor", x, x);
    const auto update = net.pointwise("update", "add.Tensor", twice, running);
    net.graph.outputs.push_back({.value = update, .fixed = graph::None{}, .mutates = "running"});
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "update"),
              "it updates a buffer of the module, which stays with torch");
}

// With what comes before and after it; along any dimension, and from its end.
TEST(Rows, RunningSumsAreOneKernel) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {64, 128}), r = net.input("r", {64, 128});
    const auto masked = net.pointwise("masked", "mul.Tensor", x, r);
    const auto running = net.op("running", "cumsum.default",
                                {{"self", masked}, {"dim", std::int64_t{0}}}, {64, 128});
    net.output(net.pointwise("y", "tanh.default", running));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_mul_cumsum_tanh"});
    EXPECT_EQ(body(found.patterns[0]), "  y = tanh(cumsum(x * factor, over: M))\n");
}

TEST(Rows, TurnedRunningSumsHaveAConstantLength) {
    Net net;
    net.dtype = DType::f32;
    const auto flip = [&](const std::string& name, graph::ValueId x) {
        return net.op(name, "flip.default", {{"self", x}, {"dims", Sizes{1}}}, {64, 128});
    };
    const auto x = net.input("x", {64, 128});
    const auto running =
        net.op("running", "cumprod.default",
               {{"self", flip("turned", x)}, {"dim", std::int64_t{-1}}}, {64, 128});
    net.output(flip("back", running));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_flip_cumprod_flip"});
    EXPECT_EQ(body(found.patterns[0]), "  y = flip(cumprod(flip(x, over: N), over: N), over: N)\n");
    EXPECT_NE(found.patterns[0].kernel.find("where N = 128"), std::string::npos);
}

TEST(Rows, RunningSumsOfIntegersAreTorchs) {
    Net net;
    net.dtype = DType::i64;
    const auto x = net.input("x", {64, 128});
    net.output(
        net.op("running", "cumsum.default", {{"self", x}, {"dim", std::int64_t{1}}}, {64, 128}));
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "running"), "it computes integers (i64)");
}

// What is small is taken along with what is large, although it comes first.
TEST(Rows, SmallTensorsGoWithLargeOnes) {
    Net net;
    net.dtype = DType::f32;
    const auto sigma = net.input("sigma", {64, 1}), x = net.input("x", {64, 128});
    const auto square = net.pointwise("square", "mul.Tensor", sigma, sigma);
    const auto scale = net.pointwise("scale", "reciprocal.default", square);
    net.output(net.pointwise("y", "mul.Tensor", x, scale));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"square", "scale", "y"}));
}

// A region must not read what is computed from its own results.
TEST(Rows, NothingIsReadThatComesOfTheRegion) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {64, 64});
    const auto a = net.pointwise("a", "tanh.default", x), b = net.pointwise("b", "exp.default", a);
    const auto product = net.op("product", "mm.default", {{"self", b}, {"mat2", b}}, {64, 64});
    const auto sorted = net.pointwise("strange", "sort_of.default", b);
    const auto sum = net.pointwise("sum", "add.Tensor", b, sorted);
    net.output(net.pointwise("y", "tanh.default", sum));
    net.output(product);
    for (const auto& pattern : net.discover().patterns)
        EXPECT_FALSE(std::ranges::count(pattern.nodes, "a") > 0 &&
                     std::ranges::count(pattern.nodes, "sum") > 0)
            << pattern.kernel;
}

}  // namespace
}  // namespace fact::match
