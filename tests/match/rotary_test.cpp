// Rotary embeddings: what is taken with a product, what on its own, and what is left as it is.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "graph/halves.h"
#include "graphs.h"

namespace fact::match {
namespace {

using graph::ValueId;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::reason_for;
using testing::Sizes;
using Ints = std::vector<std::int64_t>;
using Values = std::vector<ValueId>;

constexpr std::int64_t kRotaryB = 2, kRotaryT = 64, kRotaryH = 4, kRotaryD = 32;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

// Heads [B, T, H, D] that a projection makes, or that are given.
struct Heads : Net {
    ValueId cosine = input("cosine", {kRotaryT, 1, kRotaryD}),
            sine = input("sine", {kRotaryT, 1, kRotaryD});
    ValueId half_cosine = input("half_cosine", {kRotaryT, 1, kRotaryD / 2});
    ValueId half_sine = input("half_sine", {kRotaryT, 1, kRotaryD / 2});

    ValueId projected() {
        const auto y = linear("q", input("x", {kRotaryB, kRotaryT, 128}),
                              weight("w", {kRotaryH * kRotaryD, 128}));
        return op("heads", "view.default",
                  {{"self", y}, {"size", Ints{kRotaryB, kRotaryT, kRotaryH, kRotaryD}}},
                  {kRotaryB, kRotaryT, kRotaryH, kRotaryD});
    }
    ValueId given() { return input("heads", {kRotaryB, kRotaryT, kRotaryH, kRotaryD}); }

    ValueId slice(const std::string& name, ValueId x, std::int64_t start, std::int64_t end,
                  std::int64_t step = 1) {
        const auto from = *graph[x].type;
        Sizes sizes = from.sizes, strides = from.strides;
        sizes.back() = (std::min(end, sizes.back()) - start + step - 1) / step;
        strides.back() *= step;
        return op(name, "slice.Tensor",
                  {{"self", x},
                   {"dim", std::int64_t{-1}},
                   {"start", start},
                   {"end", end},
                   {"step", step}},
                  sizes, strides);
    }
    ValueId mul(const std::string& name, ValueId x, ValueId y) {
        return pointwise(name, "mul.Tensor", x, y);
    }
    ValueId add(const std::string& name, ValueId x, ValueId y) {
        return pointwise(name, "add.Tensor", x, y);
    }
    ValueId cat(const std::string& name, ValueId a, ValueId b) {
        Sizes sizes = graph[a].type->sizes;
        sizes.back() += graph[b].type->sizes.back();
        return op(name, "cat.default", {{"tensors", Values{a, b}}, {"dim", std::int64_t{-1}}},
                  sizes);
    }
    // x * cosine + rotate_half(x) * sine
    ValueId rotated(ValueId x, const std::string& of = "") {
        const auto straight = mul(of + "straight", x, cosine);
        const auto half = graph[x].type->sizes.back() / 2;
        const auto first = slice(of + "first", x, 0, half);
        const auto second = slice(of + "second", x, half, kEnd);
        const auto turned =
            cat(of + "turned", pointwise(of + "less", "neg.default", second), first);
        return add(of + "rotated", straight, mul(of + "sined", turned, sine));
    }
    // Each half on its own.
    ValueId separately(ValueId first, ValueId second, bool pairs) {
        const auto a = mul("a", first, half_cosine), b = mul("b", second, half_sine);
        const auto c = mul("c", second, half_cosine), d = mul("d", first, half_sine);
        const auto left = pointwise("left", "sub.Tensor", a, b), right = add("right", c, d);
        if (!pairs) return cat("rotated", left, right);
        const auto stacked = op("stacked", "stack.default",
                                {{"tensors", Values{left, right}}, {"dim", std::int64_t{-1}}},
                                {kRotaryB, kRotaryT, kRotaryH, kRotaryD / 2, 2});
        return op("rotated", "view.default",
                  {{"self", stacked}, {"size", Ints{kRotaryB, kRotaryT, kRotaryH, kRotaryD}}},
                  {kRotaryB, kRotaryT, kRotaryH, kRotaryD});
    }
};

// As in a decoder layer with grouped heads: one product, whose last heads are the values as they
// are.
TEST(Rotary, QueriesAndKeysAreOneProductWithValues) {
    Heads net;
    const auto x = net.input("x", {kRotaryB, kRotaryT, 128});
    const auto project = [&](const std::string& name, std::int64_t heads) {
        const auto y = net.linear(name, x, net.weight("w_" + name, {heads * kRotaryD, 128}));
        return net.op(name + "_heads", "view.default",
                      {{"self", y}, {"size", Ints{kRotaryB, kRotaryT, heads, kRotaryD}}},
                      {kRotaryB, kRotaryT, heads, kRotaryD});
    };
    const auto use = [&](const std::string& name, ValueId y) {
        net.output(net.op("use_" + name, "logcumsumexp.default",
                          {{"self", y}, {"dim", std::int64_t{1}}}, net.graph[y].type->sizes));
    };
    use("q", net.rotated(project("q", 4), "q_"));
    use("k", net.rotated(project("k", 2), "k_"));
    use("v", project("v", 2));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"p00_linear_rotary", "l00_linears_rotary", "p01_linear_rotary",
                                 "p02_linear"}));
    const Pattern& joined = found.patterns[1];
    EXPECT_EQ(joined.outputs, (Names{"q_rotated", "k_rotated", "v"}));
    EXPECT_EQ(joined.extents.at("G"), 8);
    EXPECT_EQ(joined.results[2].dims, (std::vector<std::vector<int>>{{0}, {1}, {2}}));
    EXPECT_NE(joined.kernel.find("where(index(G) < 6, h * cosine.view(M, 2, 16) + t1, h)"),
              std::string::npos)
        << joined.kernel;
}

TEST(Rotary, HalvesGoWithTheirProduct) {
    Heads net;
    net.output(net.rotated(net.projected()));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_rotary"});
    EXPECT_TRUE(found.left_alone.empty());
    EXPECT_EQ(found.patterns[0].kernel,
              "kernel linear_rotary(\n"
              "    x: bf16[B, M, K],\n"
              "    w: bf16[G*2*16, K],\n"
              "    cosine: bf16[M, 2*16],\n"
              "    sine: bf16[M, 2*16]\n"
              ") -> (\n"
              "    y: bf16[B, M, G*2*16]\n"
              ") {\n"
              "  acc = x @ w.T\n"
              "  h   = acc.view(B, M, G, 2, 16)\n"
              "  t1  = flip(h, over: 2) * where(index(2) == 0, -1.0, 1.0) * sine.view(M, 2, 16)\n"
              "  y   = (h * cosine.view(M, 2, 16) + t1).view(B, M, G*2*16)\n"
              "}\n");
    EXPECT_EQ(found.patterns[0].extents.at("2"), 2);
    EXPECT_EQ(found.patterns[0].extents.at("G"), kRotaryH);
}

TEST(Rotary, HalvesOnTheirOwnAreTheSame) {
    Heads net;
    const auto x = net.projected();
    const auto first = net.op("first", "chunk.default",
                              {{"self", x}, {"chunks", std::int64_t{2}}, {"dim", std::int64_t{3}}},
                              {kRotaryB, kRotaryT, kRotaryH, kRotaryD / 2},
                              {kRotaryT * kRotaryH * kRotaryD, kRotaryH * kRotaryD, kRotaryD, 1});
    const auto second = net.also(first, "second", {kRotaryB, kRotaryT, kRotaryH, kRotaryD / 2});
    net.output(net.separately(first, second, false));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_rotary"});
    EXPECT_TRUE(found.left_alone.empty());
    EXPECT_NE(found.patterns[0].kernel.find(
                  "  t1  = h * cosine + flip(h, over: 2) * where(index(2) == 0, -1.0, 1.0) * sine\n"
                  "  y   = t1.view(B, M, G*2*16)\n"),
              std::string::npos)
        << found.patterns[0].kernel;
}

TEST(Rotary, NeighboursMayBeThePairs) {
    Heads net;
    const auto x = net.projected();
    const auto even = net.slice("even", x, 0, kEnd, 2), odd = net.slice("odd", x, 1, kEnd, 2);
    net.output(net.separately(even, odd, true));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"p00_linear_rotary"});
    EXPECT_TRUE(found.left_alone.empty());
    EXPECT_NE(found.patterns[0].kernel.find("acc.view(B, M, G, 16, 2)"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_NE(found.patterns[0].kernel.find("cosine: bf16[M, 16]"), std::string::npos);
}

TEST(Rotary, StandsAloneWithoutAProduct) {
    Heads net;
    net.output(net.rotated(net.given()));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"r00_rotary"});
    EXPECT_EQ(found.patterns[0].rule, "rotary");
    EXPECT_TRUE(found.left_alone.empty());
    EXPECT_NE(found.patterns[0].kernel.find("x: bf16[B2, B1, M, 2*16]"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_EQ(found.patterns[0].extents.at("B1"), kRotaryT);
}

// A factor of what is rotated is no cosine: the weight of a norm of heads, say.
TEST(Rotary, ANormBeforeItKeepsItsWeightsName) {
    Heads net;
    const auto heads = net.projected();
    const auto norm = net.op("norm", "rms_norm.default",
                             {{"input", heads},
                              {"normalized_shape", Ints{kRotaryD}},
                              {"weight", net.weight("g", {kRotaryD})},
                              {"eps", 1e-6}},
                             {kRotaryB, kRotaryT, kRotaryH, kRotaryD});
    net.output(net.rotated(net.mul("more", norm, net.weight("h", {kRotaryD}))));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"p00_linear_rms_norm_rotary", "p00b_linear"}));
    std::map<std::string, std::string> names;
    for (const auto& param : found.patterns[0].params) names[param.value] = param.tensor;
    EXPECT_EQ(names, (std::map<std::string, std::string>{{"x", "x"},
                                                         {"w", "w"},
                                                         {"g", "weight"},
                                                         {"h", "scale"},
                                                         {"cosine", "cosine"},
                                                         {"sine", "sine"}}));
}

// Others read the heads too: the product keeps them in memory.
TEST(Rotary, StandsAloneBesideOtherReaders) {
    Heads net;
    const auto x = net.projected();
    net.output(net.rotated(x));
    net.output(net.op("sorted", "logcumsumexp.default", {{"self", x}, {"dim", std::int64_t{3}}},
                      {kRotaryB, kRotaryT, kRotaryH, kRotaryD}));
    const auto found = net.discover();
    EXPECT_EQ(ids(found), (Names{"p00_linear", "r00_rotary"}));
}

TEST(Rotary, WhatTurnsMayBeAResultToo) {
    Heads net;
    const auto x = net.given();
    net.output(net.rotated(x));
    for (const auto& node : net.graph.nodes)
        if (node.name == "turned") net.output(node.outputs.front());
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].outputs, (Names{"rotated", "turned"})) << found.patterns[0].kernel;
}

// The two halves of a head of four are of one extent.
TEST(Rotary, ShortHeadsStayWithTorch) {
    Heads net;
    net.cosine = net.input("c", {kRotaryT, 1, 4});
    net.sine = net.input("s", {kRotaryT, 1, 4});
    net.output(net.rotated(net.input("heads", {kRotaryB, kRotaryT, kRotaryH, 4})));
    const auto found = net.discover();
    for (const auto& pattern : found.patterns) EXPECT_NE(pattern.rule, "rotary") << pattern.kernel;
}

TEST(Rotary, AGateIsNoRotation) {
    Heads net;
    const auto y =
        net.linear("up", net.input("x", {kRotaryB, kRotaryT, 128}), net.weight("w", {256, 128}));
    const auto a = net.slice("a", y, 0, 128), b = net.slice("b", y, 128, 256);
    net.output(net.mul("gated", net.pointwise("silu", "silu.default", a), b));
    const auto found = net.discover();
    EXPECT_EQ(ids(found), Names{"p00_linear_silu_mul"});
}

TEST(Rotary, HalvesOfTheRowsStay) {
    Heads net;
    const auto y = net.linear("up", net.input("x", {kRotaryT, 128}), net.weight("w", {256, 128}));
    const auto part = [&](const std::string& name, std::int64_t start) {
        return net.op(
            name, "slice.Tensor",
            {{"self", y}, {"dim", std::int64_t{0}}, {"start", start}, {"end", start + 32}},
            {32, 256});
    };
    const auto a = part("a", 0), b = part("b", 32);
    net.output(net.op(
        "swapped", "cat.default",
        {{"tensors", Values{net.pointwise("less", "neg.default", b), a}}, {"dim", std::int64_t{0}}},
        {kRotaryT, 256}));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].id, "p00_linear");
}

TEST(Halves, SlicesAreReadAsTorchMeansThem) {
    Net net;
    const auto x = net.input("x", {3, 8});
    int number = 0;
    const auto half = [&](std::vector<std::pair<std::string, graph::Argument>> arguments) {
        arguments.insert(arguments.begin(), {"self", x});
        const auto value =
            net.op("s" + std::to_string(number++), "slice.Tensor", arguments, {3, 4});
        const auto found = read_halving(net.graph, net.graph[*net.graph[value].producer]);
        if (!found) return std::string("none");
        return std::to_string(found->halves.at(0)) +
               (found->place == graph::HalfPlace::outer ? " outer" : " inner");
    };
    const auto at = [](std::int64_t number) { return graph::Argument(number); };
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(0)}, {"end", at(4)}}), "0 outer");
    EXPECT_EQ(half({{"dim", at(-1)}, {"start", at(4)}, {"end", at(kEnd)}}), "1 outer");
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(-4)}}), "1 outer");
    EXPECT_EQ(half({{"dim", at(1)}, {"end", at(-4)}}), "0 outer");
    EXPECT_EQ(half({{"dim", at(1)}, {"step", at(2)}}), "0 inner");
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(1)}, {"step", at(2)}}), "1 inner");
    EXPECT_EQ(half({{"dim", at(1)}, {"end", at(7)}, {"step", at(2)}}), "0 inner");
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(2)}, {"end", at(6)}}), "none");
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(0)}, {"end", at(2)}}), "none");
    EXPECT_EQ(half({{"dim", at(1)}, {"start", at(2)}, {"step", at(2)}}), "none");
    EXPECT_EQ(half({{"dim", at(0)}}), "none");
    EXPECT_EQ(half({{"dim", at(2)}}), "none");
}

}  // namespace
}  // namespace fact::match
