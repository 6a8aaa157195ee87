// What is computed from weights alone is no pattern: a module runs it once.
#include "graph/constants.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::Names;
using testing::Net;

Names once(const Net& net) {
    const auto constant = graph::constant_nodes(net.graph);
    Names names;
    for (std::size_t i = 0; i < constant.size(); ++i)
        if (constant[i]) names.push_back(net.graph.nodes[i].name);
    return names;
}

struct Scaled : Net {
    ValueId x = input("x", {64, 64}), w = weight("w", {64, 64});
    ValueId scaled = pointwise("scaled", "mul.Tensor", pointwise("squashed", "tanh.default", w), 2);
    ValueId y = pointwise("y", "add.Tensor", x, scaled);
};

TEST(Constants, AreComputedOnceAndNoPattern) {
    Scaled net;
    net.output(net.pointwise("z", "relu.default", net.y));
    EXPECT_EQ(once(net), (Names{"squashed", "scaled"}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    // The last one is as cheap in the kernel.
    EXPECT_EQ(found.patterns[0].nodes, (Names{"scaled", "y", "z"}));
    ASSERT_EQ(found.idle.size(), 1u);
    EXPECT_EQ(found.idle[0].reason, "it is computed from weights alone, once");
}

TEST(Constants, ViewsOfWeightsAreMadeAgainForOthers) {
    for (const bool others : {false, true}) {
        Net net;
        const auto w = net.weight("w", {64, 64});
        const auto turned = net.permute("turned", w, {1, 0});
        const auto made = net.pointwise("made", "tanh.default", turned);
        const auto y = net.pointwise("y", "add.Tensor", net.input("x", {64, 64}),
                                     net.permute("view", made, {1, 0}));
        net.output(others ? net.pointwise("z", "mul.Tensor", y, turned) : y);
        EXPECT_EQ(once(net), others ? (Names{"made", "view"}) : (Names{"turned", "made", "view"}));
    }
}

TEST(Constants, WhatTheCallerIsGivenIsNotKept) {
    Scaled net;
    net.output(net.y);
    net.output(net.permute("given", net.scaled, {1, 0}));
    EXPECT_EQ(once(net), (Names{"squashed"}));
}

TEST(Constants, ChangedBuffersAndRandomNumbersAreNone) {
    Net net;
    const auto calls = net.input("calls", {64}, {}, graph::InputKind::buffer);
    const auto w = net.weight("w", {64});
    const auto noise = net.pointwise("noise", "rand_like.default", w);
    const auto next = net.pointwise("next", "add.Tensor", calls, 1.0);
    net.graph.outputs.push_back({.value = next, .fixed = {}, .mutates = "calls"});
    net.output(net.pointwise("y", "mul.Tensor", net.pointwise("cosine", "cos.default", next),
                             net.pointwise("loud", "exp.default", noise)));
    EXPECT_EQ(once(net), Names{});
}

TEST(Constants, ChecksAreMadeInEveryCall) {
    Scaled net;
    graph::Node check;
    check.target = "aten._assert_tensor_metadata.default";
    check.name = "check";
    check.inputs = {{"a", net.y}};
    net.graph.nodes.push_back(check);
    net.output(net.pointwise("z", "relu.default", net.y));
    EXPECT_EQ(once(net), (Names{"squashed", "scaled"}));
}

TEST(Constants, WhatIsMuchLargerThanItsWeightsIsMadeAgain) {
    Net net;
    const auto x = net.input("x", {8192, 8192}), w = net.weight("w", {8192});
    const auto all = net.op("all", "repeat.default", {{"self", w}}, {8192, 8192});
    net.output(net.pointwise("y", "add.Tensor", x, all));
    EXPECT_EQ(once(net), Names{});
}

}  // namespace
}  // namespace fact::match
