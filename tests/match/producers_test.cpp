// Operators that compute only what a region reads beside its product.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using namespace testing;

// product * exp(d), where d is [columns, rows] and may begin as a part of a larger tensor.
Net scaled_product(Sizes strides) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {256, 512}), w = net.weight("w", {512, 256});
    const auto y = net.op("y", "mm.default", {{"self", x}, {"mat2", w}}, {256, 256});
    const auto d = net.input("d", {256, 256}, std::move(strides));
    const auto twice = net.pointwise("twice", "mul.Tensor", d, d);
    const auto scale = net.op("scale", "exp.default", {{"self", twice}}, {256, 256});
    const auto turned = net.permute("turned", scale, {1, 0});
    net.output(net.pointwise("scaled", "mul.Tensor", y, turned));
    return net;
}

TEST(Producers, AreTakenThroughPermutes) {
    const auto found = scaled_product({}).discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "twice", "scale", "turned", "scaled"}));
    EXPECT_EQ(body(found.patterns[0]),
              "  acc = a @ b\n"
              "  y   = acc * exp(factor.T * factor.T)\n");
}

// No dimension of d has neighbours in memory: torch's result of the first operator does.
TEST(Producers, StopBeforeWhatKernelsCannotRead) {
    Net net = scaled_product({512, 2});
    const auto twice = std::ranges::find(net.graph.nodes, "twice", &graph::Node::name);
    net.graph[twice->outputs.front()].type->strides = {256, 1};
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "scale", "turned", "scaled"}));
}

TEST(Producers, AreTakenThroughDimensionsOfOne) {
    Net net;
    net.dtype = DType::f32;
    const auto x = net.input("x", {4, 256, 512}), w = net.input("w", {4, 512, 256});
    const auto y = net.op("y", "bmm.default", {{"self", x}, {"mat2", w}}, {4, 256, 256});
    const auto d = net.input("d", {4, 256});
    const auto scale = net.pointwise("scale", "exp.default", d);
    const auto column = net.op("column", "unsqueeze.default",
                               {{"self", scale}, {"dim", std::int64_t{2}}}, {4, 256, 1});
    net.output(net.pointwise("scaled", "mul.Tensor", y, column));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "scale", "column", "scaled"}));
}

}  // namespace
}  // namespace fact::match
