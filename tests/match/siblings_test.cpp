#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::Argument;
using testing::Net;
using testing::ValueId;

// Linears of one input of 4 x 32 x 64, each followed by something that takes nothing along.
struct Projections : Net {
    ValueId x = input("x", {4, 32, 64});

    ValueId linear(const std::string& name, std::int64_t width, bool bias = true) {
        const auto w = weight("w_" + name, {width, 64});
        std::vector<std::pair<std::string, Argument>> arguments{{"input", x}, {"weight", w}};
        if (bias) arguments.emplace_back("bias", weight("b_" + name, {width}));
        return op(name, "linear.default", arguments, {4, 32, width});
    }
    ValueId project(const std::string& name, std::int64_t width, bool bias = true) {
        const auto y = linear(name, width, bias);
        output(op("cumsum_" + name, "cumsum.default", {{"self", y}, {"dim", std::int64_t{1}}},
                  {4, 32, width}));
        return y;
    }
    std::vector<Pattern> joined() const {
        auto patterns = discover().patterns;
        std::erase_if(patterns, [](const Pattern& p) { return p.rule != "linears"; });
        return patterns;
    }
};

TEST(Siblings, LinearsOfOneInputAreOneProduct) {
    Projections net;
    net.project("q", 128), net.project("k", 128, false), net.project("v", 128);
    const auto found = net.discover().patterns;
    ASSERT_EQ(found.size(), 4u);  // each by itself, too
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 1u);
    const Pattern& pattern = joined.front();
    EXPECT_EQ(pattern.id, "l00_linears_bias");
    EXPECT_EQ(pattern.nodes, (std::vector<std::string>{"q", "k", "v"}));
    EXPECT_EQ(pattern.outputs, pattern.nodes);
    EXPECT_EQ(pattern.kernel,
              R"(kernel linears_bias(
    x: bf16[M, K],
    w1: bf16[N, K],
    w2: bf16[N, K],
    w3: bf16[N, K],
    b1: bf16[N],
    b3: bf16[N]
) -> (
    y: bf16[3, M, N]
) {
  t1       = where(index(3) == 1, w2.expand(3, N, K), w3.expand(3, N, K))
  stored w = bf16(where(index(3) == 0, w1.expand(3, N, K), t1))
  acc      = x @ w.T
  t2       = where(index(3) == 1, 0.0, b3.expand(3, N))
  stored b = bf16(where(index(3) == 0, b1.expand(3, N), t2))
  y        = acc + b
}
)");
    ASSERT_EQ(pattern.results.size(), 3u);
    for (const auto& result : pattern.results) {
        EXPECT_EQ(result.tensor, "y");
        EXPECT_EQ(result.dims, (std::vector<std::vector<int>>{{}, {0, 1}, {2}}));
    }
    EXPECT_EQ(pattern.problem.batch, 3);
    // The input is read once, and the weights are stacked before.
    double apart = 0;
    for (const auto& other : found)
        if (other.rule != "linears") apart += other.cost.expected_us;
    EXPECT_LT(pattern.cost.expected_us, apart);
    EXPECT_EQ(pattern.cost.expected_us, pattern.cost.bound_us);
}

TEST(Siblings, OnlyWhatIsAlikeIsJoined) {
    Projections net;
    net.project("q", 256), net.project("k", 128), net.project("v", 128);
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined.front().nodes, (std::vector<std::string>{"k", "v"}));
}

TEST(Siblings, WhatTakesOthersAlongOrIsAResultStaysAlone) {
    Projections net;
    net.output(net.pointwise("gelu", "gelu.default", net.linear("up", 128)));
    net.output(net.linear("out", 128));
    net.project("last", 128);
    EXPECT_TRUE(net.joined().empty());
}

TEST(Siblings, WeightsThatAreComputedAreNotJoined) {
    Net net;
    const auto x = net.input("x", {32, 64});
    for (const char* name : {"p", "q"}) {
        const auto w = net.input(std::string("w_") + name, {128, 64});
        const auto y = net.linear(name, x, w);
        net.output(net.op(std::string("sum_") + name, "cumsum.default",
                          {{"self", y}, {"dim", std::int64_t{0}}}, {32, 128}));
    }
    for (const auto& pattern : net.discover().patterns) EXPECT_NE(pattern.rule, "linears");
}

}  // namespace
}  // namespace fact::match
