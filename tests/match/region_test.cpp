// How far regions grow, and what stops them.
#include "match/regions/region.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.h"
#include "match/patterns/printer.h"

namespace fact::match {
namespace {

using testing::Names;
using testing::Net;
using testing::reason_for;

struct Small : Net {
    graph::ValueId x = input("x", {64, 48}), w = weight("w", {96, 48});
    graph::ValueId y = linear("y", x, w);
};

TEST(Facts, WhatACallChangesOrCopiesIsNoConstant) {
    Net net;
    const auto w = net.weight("w", {8, 4}), cache = net.weight("cache", {4});
    const auto turned =
        net.op("turned", "permute.default",
               {{"self", w}, {"dims", std::vector<std::int64_t>{1, 0}}}, {4, 8}, {1, 4});
    const auto flat = net.op("flat", "reshape.default",
                             {{"self", turned}, {"shape", std::vector<std::int64_t>{32}}}, {32});
    const auto same = net.op("same", "reshape.default",
                             {{"self", w}, {"shape", std::vector<std::int64_t>{32}}}, {32});
    const auto next = net.pointwise("next", "relu.default", cache);
    net.graph.outputs.push_back({.value = next, .fixed = graph::None{}, .mutates = "cache"});
    const Facts facts(net.graph);
    const auto constant = [&](graph::ValueId value) {
        return bool{facts.constant[graph::index(value)]};
    };
    EXPECT_TRUE(constant(w) && constant(turned) && constant(same));
    EXPECT_FALSE(constant(flat));
    EXPECT_FALSE(constant(cache));
}

TEST(Region, InteriorResultOfTheModuleIsACut) {
    Small net;
    net.output(net.y);
    net.output(net.pointwise("r", "relu.default", net.y));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, Names{"y"});
    EXPECT_EQ(reason_for(found, "r"), "y is also a result of the module");
}

TEST(Region, DiamondIsTakenWhole) {
    Small net;
    const auto s = net.pointwise("s", "sigmoid.default", net.y);
    const auto t = net.pointwise("t", "tanh.default", net.y);
    net.output(net.pointwise("z", "add.Tensor", s, t));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "s", "t", "z"}));
}

// z needs the running sums of r, which need r: fusing r with z would make a cycle.
TEST(Region, ResidualOfItsOwnResultIsRefused) {
    Small net;
    const auto r = net.pointwise("r", "relu.default", net.y);
    const auto s =
        net.op("s", "logcumsumexp.default", {{"self", r}, {"dim", std::int64_t{1}}}, {64, 96});
    net.output(net.pointwise("z", "add.Tensor", r, s));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "r"}));
    EXPECT_EQ(reason_for(found, "z"), "r is also used by s");
}

TEST(Region, BooleanEndIsCutBackToTheLastFloatingValue) {
    Small net;
    const auto r = net.pointwise("r", "exp.default", net.y);
    net.dtype = DType::boolean;
    net.output(net.pointwise("positive", "gt.Scalar", r, 0.5));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "r"}));
    EXPECT_EQ(reason_for(found, "positive"), "a kernel cannot have a result of type bool");
}

TEST(Region, MaskIsComputedInsideUnlessOthersNeedIt) {
    for (const bool shared : {false, true}) {
        Net net;
        net.dtype = DType::i64;
        const auto tokens = net.input("tokens", {64, 96});
        net.dtype = DType::boolean;
        const auto pad = net.pointwise("pad", "eq.Scalar", tokens, std::int64_t{0});
        net.dtype = DType::bf16;
        const auto x = net.input("x", {64, 48});
        const auto y = net.linear("y", x, net.weight("w", {96, 48}));
        net.output(net.op("z", "masked_fill.Scalar", {{"self", y}, {"mask", pad}, {"value", -1e4}},
                          {64, 96}));
        if (shared) net.output(pad);
        const auto found = net.discover();
        ASSERT_EQ(found.patterns.size(), 1u);
        const auto& p = found.patterns[0];
        EXPECT_EQ(p.nodes, shared ? (Names{"y", "z"}) : (Names{"pad", "y", "z"}));
        EXPECT_EQ(p.inputs.back(), shared ? "pad" : "w");
        EXPECT_NE(p.kernel.find(shared ? "mask: bool[M, N]" : "mask: i64[M, N]"), std::string::npos)
            << p.kernel;
        EXPECT_NE(p.kernel.find(shared ? "where(mask, -10000.0, acc)"
                                       : "where(mask == 0, -10000.0, acc)"),
                  std::string::npos)
            << p.kernel;
    }
}

// The language combines a row with a column only where one of them has been spread.
TEST(Region, OuterSumOfRowAndColumnIsSpread) {
    Small net;
    const auto row = net.input("row", {96}), column = net.input("column", {64, 1}, {1, 1});
    const auto grid = net.op("grid", "add.Tensor", {{"self", column}, {"other", row}}, {64, 96});
    net.output(net.pointwise("z", "mul.Tensor", net.y, grid));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "grid", "z"}));
    EXPECT_NE(found.patterns[0].kernel.find("addend + where(bias < index(M), bias, bias).T"),
              std::string::npos)
        << found.patterns[0].kernel;
}

TEST(Region, BroadcastOfTheResultIsRefused) {
    Small net;
    const auto big = net.input("big", {8, 64, 96});
    net.output(net.op("z", "add.Tensor", {{"self", net.y}, {"other", big}}, {8, 64, 96}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(reason_for(found, "z"), "it broadcasts its operand to a larger shape");
}

TEST(Region, SumWithItsOwnTransposeIsRefused) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto y = net.linear("y", x, net.weight("w", {64, 48}));
    const auto t = net.permute("t", y, {1, 0});
    net.output(net.pointwise("z", "add.Tensor", y, t));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, Names{"y"});
    EXPECT_EQ(reason_for(found, "z"), "it combines a value with a reordering of itself");
}

// Splitting the columns into heads has no spelling in the language: the region ends before it.
TEST(Region, ViewThatSplitsColumnsEndsTheRegion) {
    Net net;
    const auto x = net.input("x", {4, 16, 48});
    const auto y = net.linear("y", x, net.weight("w", {96, 48}));
    const auto v = net.op("v", "view.default",
                          {{"self", y}, {"size", testing::Sizes{4, 16, 8, 12}}}, {4, 16, 8, 12});
    const auto t = net.permute("t", v, {0, 2, 1, 3});
    net.output(net.op("c", "clone.default", {{"self", t}}, {4, 8, 16, 12}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, Names{"y"});
    EXPECT_EQ(reason_for(found, "c"),
              "the strides of c do not let its dimensions be merged as the kernel needs");
}

TEST(Region, AddReachableFromTwoProductsIsTakenOnce) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto small = net.linear("small", x, net.weight("w", {96, 48}));
    const auto wide = net.input("wide", {64, 4096});
    const auto large = net.linear("large", wide, net.weight("v", {96, 4096}));
    net.output(net.pointwise("sum", "add.Tensor", small, large));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 2u);
    const std::size_t with_add = found.patterns[0].nodes.size() + found.patterns[1].nodes.size();
    EXPECT_EQ(with_add, 3u);
    EXPECT_EQ(to_json(found), to_json(net.discover()));
}

// One tensor in two roles is two parameters, but its bytes are read once.
TEST(Region, ResidualMayBeTheOperandItself) {
    Net net;
    const auto x = net.input("x", {64, 48});
    const auto y = net.linear("y", x, net.weight("w", {48, 48}));
    net.output(net.pointwise("z", "add.Tensor", y, x));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    const auto& p = found.patterns[0];
    EXPECT_EQ(p.inputs, (Names{"x", "w"}));
    ASSERT_EQ(p.params.size(), 3u);
    EXPECT_EQ(p.params[2].tensor, "residual");
    EXPECT_EQ(p.params[2].value, "x");
    EXPECT_DOUBLE_EQ(p.cost.bytes, 2.0 * (64 * 48 + 48 * 48 + 64 * 48));
    EXPECT_DOUBLE_EQ(p.cost.flops, 2.0 * 64 * 48 * 48);
}

// What only the region reads, but as an operand of its product, is made outside all the same.
TEST(Region, AProducerThatTheProductReadsTooStaysOutside) {
    Net net;
    const auto x = net.pointwise("x", "tanh.default", net.input("raw", {64, 48}));
    const auto y = net.linear("y", x, net.weight("w", {48, 48}));
    net.output(net.pointwise("z", "mul.Tensor", y, x));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "z"}));
    EXPECT_EQ(found.patterns[0].inputs, (Names{"x", "w"}));
}

// Torch does not read the addend when beta is zero, so NaN in it must not spread.
// Of the product itself, and of another one that gates it.
TEST(Region, AComputedAddendIsRead) {
    for (const bool gated : {false, true}) {
        Small net;
        const auto bias = net.pointwise("bias", "mul.Tensor", net.input("b", {96}), 2.0);
        const auto z = net.op(
            "z", "linear.default",
            {{"input", net.x}, {"weight", net.weight("v", {96, 48})}, {"bias", bias}}, {64, 96});
        net.output(gated ? net.pointwise("g", "mul.Tensor", z, net.y) : z);
        if (!gated) net.output(net.y);
        const auto found = net.discover();
        const auto reads = [&](const Pattern& pattern) {
            return pattern.kernel.find(" + bias") != std::string::npos;
        };
        EXPECT_EQ(std::ranges::count_if(found.patterns, reads), 1) << print(found);
    }
}

TEST(Region, AddendTimesZeroIsNotRead) {
    for (const double beta : {0.0, 1.0}) {
        Net net;
        const auto addend = net.input("addend", {4, 1, 32});
        const auto a = net.input("a", {4, 16, 48}), b = net.input("b", {4, 48, 32});
        net.output(net.op("y", "baddbmm.default",
                          {{"self", addend}, {"batch1", a}, {"batch2", b}, {"beta", beta}},
                          {4, 16, 32}));
        const auto found = net.discover();
        ASSERT_EQ(found.patterns.size(), 1u);
        const auto& p = found.patterns[0];
        EXPECT_EQ(p.inputs, (Names{"addend", "a", "b"}));
        EXPECT_EQ(p.params.size(), beta == 0 ? 2u : 3u);
        if (beta != 0) {
            EXPECT_EQ(p.params[2].dims, (std::vector<std::vector<int>>{{0}, {2}}));
            EXPECT_NE(p.kernel.find("addend: bf16[B, N]"), std::string::npos) << p.kernel;
        }
    }
}

TEST(Region, GraphWithoutProductsGivesNothing) {
    Net net;
    net.output(net.pointwise("r", "relu.default", net.input("x", {64, 48})));
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "r"), "nothing next to it can be computed with it");
}

}  // namespace
}  // namespace fact::match
