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
        output(op("use_" + name, "logcumsumexp.default", {{"self", y}, {"dim", std::int64_t{1}}},
                  {4, 32, width}));
        return y;
    }
    std::vector<Pattern> joined() const {
        auto patterns = discover().patterns;
        std::erase_if(patterns, [](const Pattern& p) { return p.rule != "linears"; });
        return patterns;
    }
};

std::vector<std::string> values_of(const std::vector<graph::Binding>& bindings,
                                   const std::string& tensor) {
    std::vector<std::string> values;
    for (const auto& binding : bindings)
        if (binding.tensor == tensor) values.push_back(binding.value);
    return values;
}

TEST(Siblings, LinearsOfOneInputAreOneProduct) {
    Projections net;
    net.project("q", 256), net.project("k", 128), net.project("v", 128);
    const auto found = net.discover().patterns;
    ASSERT_EQ(found.size(), 4u);  // each by itself, too
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 1u);
    const Pattern& pattern = joined.front();
    EXPECT_EQ(pattern.id, "l00_linears_bias");
    EXPECT_EQ(pattern.nodes, (std::vector<std::string>{"q", "k", "v"}));
    EXPECT_EQ(pattern.outputs, pattern.nodes);
    EXPECT_EQ(
        pattern.kernel,
        R"(kernel linears_bias(x: bf16[M, K], w: bf16[N, K], bias: bf16[N]) -> (y: bf16[M, N]) {
  acc = x @ w.T
  y   = acc + bias
}
)");
    EXPECT_EQ(pattern.extents.at("N"), 512);
    EXPECT_EQ(pattern.problem.n, 512);
    EXPECT_EQ(values_of(pattern.params, "w"), (std::vector<std::string>{"w_q", "w_k", "w_v"}));
    EXPECT_EQ(values_of(pattern.params, "bias"), (std::vector<std::string>{"b_q", "b_k", "b_v"}));
    EXPECT_EQ(values_of(pattern.results, "y"), pattern.nodes);
    for (const auto& result : pattern.results)
        EXPECT_EQ(result.dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
    // The input is read once, and the weights are joined before.
    double apart = 0;
    for (const auto& other : found)
        if (other.rule != "linears") apart += other.cost.expected_us;
    EXPECT_LT(pattern.cost.expected_us, apart);
    EXPECT_EQ(pattern.cost.expected_us, pattern.cost.bound_us);
}

TEST(Siblings, WhatFollowsInTheSameWayIsComputedAlong) {
    Projections net;
    const auto gelu = [&](const std::string& name, std::int64_t width) {
        const auto y = net.pointwise("gelu_" + name, "gelu.default", net.linear(name, width));
        net.output(net.op("use_" + name, "logcumsumexp.default",
                          {{"self", y}, {"dim", std::int64_t{1}}}, {4, 32, width}));
    };
    net.project("v", 64), gelu("up", 128), gelu("gate", 256);
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined[0].outputs, (std::vector<std::string>{"gelu_up", "gelu_gate", "v"}));
    EXPECT_NE(joined[0].kernel.find("y   = where(index(N) < 384, gelu(t1), t1)"), std::string::npos)
        << joined[0].kernel;
}

// All of them read the norm, so that it can go.
TEST(Siblings, TheNormBeforeThemIsFolded) {
    Projections net;
    net.x = net.op("norm", "rms_norm.default",
                   {{"input", net.x},
                    {"normalized_shape", std::vector<std::int64_t>{64}},
                    {"weight", net.weight("gain", {64})},
                    {"eps", 1e-6}},
                   {4, 32, 64});
    net.project("q", 256, false), net.project("k", 128, false);
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 2u);
    EXPECT_EQ(joined[1].id, "l01_rms_norm_linears");
    EXPECT_EQ(joined[1].nodes, (std::vector<std::string>{"norm", "q", "k"}));
    EXPECT_EQ(joined[1].inputs, (std::vector<std::string>{"x", "gain", "w_q", "w_k"}));
    EXPECT_NE(joined[1].kernel.find("scaled  = bf16(w * gain)"), std::string::npos);
    net.output(net.x);  // now somebody else reads it, too
    EXPECT_EQ(net.joined().size(), 1u);
}

TEST(Siblings, OnlyWhatHasABiasLikeTheOthersIsJoined) {
    Projections net;
    net.project("q", 128), net.project("k", 128, false), net.project("v", 128);
    const auto joined = net.joined();
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined.front().nodes, (std::vector<std::string>{"q", "v"}));
}

TEST(Siblings, WhatIsAResultOrAsWideAsAnotherOperandStaysAlone) {
    Projections net;
    net.output(net.linear("out", 128));
    const auto sum =
        net.pointwise("sum", "add.Tensor", net.linear("up", 128), net.input("other", {4, 32, 128}));
    net.output(net.op("use", "logcumsumexp.default", {{"self", sum}, {"dim", std::int64_t{1}}},
                      {4, 32, 128}));
    net.project("last", 128);
    EXPECT_TRUE(net.joined().empty());
}

// A router's logits in f32 beside a linear in 16 bits.
TEST(Siblings, ResultsOfOneTypeAreJoined) {
    Projections net;
    const auto logits =
        net.op("logits", "_to_copy.default",
               {{"self", net.linear("router", 8, false)}, {"dtype", graph::DTypeArg{DType::f32}}},
               {4, 32, 8});
    net.graph[logits].type->dtype = DType::f32;
    net.output(net.op("use", "logcumsumexp.default", {{"self", logits}, {"dim", std::int64_t{1}}},
                      {4, 32, 8}));
    net.project("up", 128, false);
    EXPECT_TRUE(net.joined().empty());
}

// The caller gets it as torch would give it.
TEST(Siblings, WhatLeavesTheModuleAsAViewIsNotJoined) {
    Projections net;
    net.output(
        net.op("view", "view.default",
               {{"self", net.linear("p", 128)}, {"size", std::vector<std::int64_t>{128, 128}}},
               {128, 128}));
    net.project("q", 128);
    EXPECT_TRUE(net.joined().empty());
}

TEST(Siblings, WhoIsToldHowMemoryLiesGetsItSo) {
    for (const char* target : {"as_strided.default", "logcumsumexp.default"}) {
        Projections net;
        const auto y = net.linear("p", 128);
        const auto view =
            net.op("view", "view.default",
                   {{"self", y}, {"size", std::vector<std::int64_t>{128, 128}}}, {128, 128});
        net.output(net.op("last", target, {{"self", view}}, {128, 128}));
        net.project("q", 128);
        EXPECT_EQ(net.joined().empty(), std::string_view(target) == "as_strided.default");
    }
}

TEST(Siblings, WeightsThatAreComputedAreNotJoined) {
    Net net;
    const auto x = net.input("x", {32, 64});
    for (const char* name : {"p", "q"}) {
        const auto w = net.input(std::string("w_") + name, {128, 64});
        const auto y = net.linear(name, x, w);
        net.output(net.op(std::string("sum_") + name, "logcumsumexp.default",
                          {{"self", y}, {"dim", std::int64_t{0}}}, {32, 128}));
    }
    for (const auto& pattern : net.discover().patterns) EXPECT_NE(pattern.rule, "linears");
}

}  // namespace
}  // namespace fact::match
