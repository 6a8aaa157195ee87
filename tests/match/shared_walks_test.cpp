// Walks over expressions and values that many others share: each is looked at once, however many
// ways lead to it, and however far down it is.
#include <gtest/gtest.h>

#include <cmath>

#include "graphs.h"
#include "match/formulas/activations.h"
#include "match/formulas/halves.h"
#include "match/formulas/norm_form.h"
#include "match/known/values.h"

namespace fact::match {
namespace {

using ir::BinaryOp;
using ir::ExprId;
using testing::Net;

constexpr int kDepth = 64;        // 2^64 ways from the top to the bottom
constexpr int kLength = 100'000;  // more calls than a stack holds

struct Written {
    ir::Kernel kernel;
    ir::Builder b{kernel};
    ir::DimId m = kernel.dim("M"), n = kernel.dim("N"), two = kernel.dim("2");

    ExprId param(const std::string& name, std::vector<ir::DimId> dims) {
        kernel.params.push_back({name, {DType::f32, std::move(dims)}, {}});
        return b.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    // x, op of it and itself, op of that and itself, ...
    ExprId doubled(ExprId x, BinaryOp op = BinaryOp::add, int times = kDepth) {
        for (int i = 0; i < times; ++i) x = b.binary(op, x, x);
        return x;
    }
    void output(ExprId value) {
        kernel.outputs.push_back({{"y", {DType::f32, kernel[value].type.dims}, {}}, value});
    }
};

TEST(SharedWalks, JoiningComparesEachPairOnce) {
    Written w;
    const ExprId x = w.param("x", {w.m, w.two}), z = w.param("z", {w.m, w.two});
    const auto tower = [&](bool swapped) {
        ExprId top = w.b.binary(BinaryOp::add, swapped ? z : x, swapped ? x : z);
        for (int i = 0; i < kDepth; ++i) {
            const ExprId less = w.b.unary(ir::UnaryOp::neg, top);
            top = w.b.binary(BinaryOp::mul, swapped ? less : top, swapped ? top : less);
        }
        return top;
    };
    const ExprId first = tower(false), second = tower(true), other = w.doubled(z);
    EXPECT_EQ(join_halves(w.kernel, first, second, w.two), first);
    const ExprId both = join_halves(w.kernel, first, other, w.two);
    EXPECT_TRUE(std::holds_alternative<ir::Select>(w.kernel[both].node));
}

TEST(SharedWalks, JoiningTakesOutAnyNumberOfFactors) {
    Written w;
    ExprId first = w.param("x", {w.m, w.two}), second = w.param("z", {w.m, w.two});
    const ExprId factor = w.param("f", {w.m, w.two});
    for (int i = 0; i < kLength; ++i) {
        first = w.b.binary(BinaryOp::mul, factor, first);
        second = w.b.binary(BinaryOp::mul, factor, second);
    }
    const ExprId both = join_halves(w.kernel, first, second, w.two);
    const auto& product = std::get<ir::Binary>(w.kernel[both].node);
    EXPECT_EQ(product.a, factor);
    // Each factor is written once more, around one choice.
    EXPECT_LT(w.kernel.exprs.size(), 3u * kLength + 20);
    w.output(both);
    merge_equal(w.kernel);
    EXPECT_EQ(ir::verify(w.kernel), "");
}

TEST(SharedWalks, EqualExpressionsBecomeOne) {
    Written w;
    const ExprId x = w.param("x", {w.m, w.n});
    ExprId a = x, b = x;
    for (int i = 0; i < kLength / 2; ++i) {
        a = w.b.binary(BinaryOp::add, a, w.b.literal(i));
        b = w.b.binary(BinaryOp::add, b, w.b.literal(i));
    }
    w.output(w.b.binary(BinaryOp::mul, a, b));
    merge_equal(w.kernel);
    const auto& product = std::get<ir::Binary>(w.kernel[w.kernel.outputs[0].value].node);
    EXPECT_EQ(product.a, product.b);
}

TEST(SharedWalks, SquaresOfSquaresAreNoNorm) {
    Written w;
    const ExprId x = w.param("x", {w.m, w.n});
    w.output(w.doubled(x, BinaryOp::mul));
    EXPECT_FALSE(read_norm_form(w.kernel));
    // A gain that doubles itself on the way is one all the same.
    Written norm;
    const ExprId row = norm.param("x", {norm.m, norm.n}), g = norm.param("g", {norm.n});
    const ExprId sum =
        norm.b.reduce(ir::ReduceOp::sum, norm.b.binary(BinaryOp::mul, row, row), {norm.n});
    const ExprId mean = norm.b.binary(BinaryOp::div, sum, norm.b.extent(norm.n));
    const ExprId scale =
        norm.b.unary(ir::UnaryOp::rsqrt, norm.b.binary(BinaryOp::add, mean, norm.b.literal(1e-5)));
    const ExprId gain = norm.doubled(g);
    norm.output(norm.b.binary(BinaryOp::mul, norm.b.binary(BinaryOp::mul, row, scale), gain));
    const auto form = read_norm_form(norm.kernel);
    ASSERT_TRUE(form);
    EXPECT_EQ(form->gains, std::vector{gain});
}

TEST(SharedWalks, ActivationsAreLookedForNearby) {
    Written w;
    const ExprId x = w.param("x", {w.m, w.n});
    ExprId deep = x;
    for (int i = 0; i < kLength; ++i) deep = w.b.unary(ir::UnaryOp::neg, deep);
    const ExprId wide = w.doubled(x);
    w.output(w.b.binary(BinaryOp::add, w.b.unary(ir::UnaryOp::tanh, deep),
                        w.b.unary(ir::UnaryOp::tanh, wide)));
    std::vector<std::string> tags(w.kernel.exprs.size());
    const auto before = w.kernel.exprs.size();
    recognise_activations(w.kernel, tags);
    EXPECT_EQ(w.kernel.exprs.size(), before);
}

TEST(SharedWalks, LargeKnownValuesAreComputedOnce) {
    Net net;
    net.dtype = DType::f32;
    const auto row = net.op("row", "arange.start_step", {{"end", std::int64_t{1025}}}, {1025});
    const auto column =
        net.op("column", "view.default",
               {{"self", row}, {"size", std::vector<std::int64_t>{1025, 1}}}, {1025, 1});
    auto x = net.op("x0", "add.Tensor", {{"self", column}, {"other", row}}, {1025, 1025});
    for (int i = 1; i <= 24; ++i) x = net.pointwise("x" + std::to_string(i), "add.Tensor", x, x);
    KnownValues known(net.graph, {});
    const auto found = known.of(x);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->at(std::vector<std::int64_t>{3, 4}), 7 * std::pow(2, 24));
}

TEST(SharedWalks, AChainOfKnownValuesHasAnEnd) {
    Net net;
    net.dtype = DType::f32;
    auto x = net.op("x", "ones.default", {}, {2});
    std::vector<graph::ValueId> chain;
    for (int i = 0; i < kLength; ++i)
        chain.push_back(x = net.pointwise("x" + std::to_string(i), "neg.default", x));
    KnownValues known(net.graph, {});
    EXPECT_FALSE(known.of(chain.back()));
    EXPECT_TRUE(known.of(chain[20]));
}

// Graphs that go on for longer than any kernel can: what is around a product or a norm is taken as
// far as it helps, and the time goes by the graph's length.
graph::ValueId chain(Net& net, const std::string& name, graph::ValueId x) {
    for (int i = 0; i < kLength / 16; ++i)
        x = net.pointwise(name + std::to_string(i), i % 2 ? "tanh.default" : "relu.default", x);
    return x;
}

TEST(SharedWalks, AProductTakesOnlySoMuchAlong) {
    Net net;
    const auto x = net.input("x", {128, 256}), w = net.weight("w", {512, 256});
    net.output(chain(net, "y", net.linear("product", x, w)));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].nodes.size(), 201u);
}

TEST(SharedWalks, WhatComesBesideAProductIsNotFollowedForEver) {
    Net net;
    const auto x = net.input("x", {128, 256}), w = net.weight("w", {512, 256});
    const auto side = chain(net, "s", net.input("side", {128, 512}));
    net.output(net.pointwise("sum", "add.Tensor", net.linear("product", x, w), side));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    for (const auto& pattern : found.patterns) EXPECT_LE(pattern.nodes.size(), 400u);
}

TEST(SharedWalks, ANormInALongChain) {
    Net net;
    const auto before = chain(net, "x", net.input("input", {128, 256}));
    const auto norm = net.op(
        "norm", "layer_norm.default",
        {{"input", before}, {"normalized_shape", std::vector<std::int64_t>{256}}}, {128, 256});
    net.output(chain(net, "y", norm));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    for (const auto& pattern : found.patterns) EXPECT_LE(pattern.nodes.size(), 200u);
}

}  // namespace
}  // namespace fact::match
