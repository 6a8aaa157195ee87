#include "compose/peak_memory.h"

#include <gtest/gtest.h>

#include "../graph/graph_builder.h"

namespace fact::compose {
namespace {

using graph::ValueId;
using graph::testing::GraphBuilder;
using graph::testing::tensor;

// Values of `rows` * 32 bytes.
ValueId value(GraphBuilder& b, const std::string& name, std::vector<ValueId> reads,
              std::int64_t rows, const std::string& target = "aten.cat.default") {
    std::vector<graph::NamedArgument> inputs{{"tensors", std::move(reads)}};
    return b.node(name, target, std::move(inputs), tensor({rows, 8}));
}

TEST(PeakMemory, IsWhatLivesAtATime) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({100, 8}));
    const auto y = value(b, "y", {x}, 1);
    const auto z = value(b, "z", {y}, 2);  // y and z
    const auto u = value(b, "u", {z}, 4);  // z and u
    b.output(value(b, "v", {u}, 1));
    EXPECT_EQ(PeakMemory(b.graph).bytes({}), 6 * 32);
}

TEST(PeakMemory, AViewKeepsWhatItShows) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({1, 8}));
    const auto y = value(b, "y", {x}, 1);
    const auto view = value(b, "view", {y}, 1, "aten.view.default");
    const auto z = value(b, "z", {x}, 2);
    b.output(value(b, "v", {z, view}, 4));
    EXPECT_EQ(PeakMemory(b.graph).bytes({}), 7 * 32);
}

TEST(PeakMemory, WhatLiesInAnotherMakesItLiveAsLong) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({1, 8}));
    const auto early = value(b, "early", {x}, 1);
    const auto large = value(b, "large", {x}, 20);
    const auto late = value(b, "late", {large}, 1);
    const auto inner = value(b, "inner", {early, late}, 2);
    const auto outer = value(b, "outer", {inner, x}, 3);
    b.output(outer);
    const PeakMemory memory(b.graph);
    EXPECT_EQ(memory.bytes({}), 22 * 32);               // large, early, late
    EXPECT_EQ(memory.bytes({{late, inner}}), 23 * 32);  // large, early, inner
    EXPECT_EQ(memory.bytes({{early, inner}, {late, inner}}), 22 * 32);
    EXPECT_EQ(memory.bytes({{early, inner}, {inner, outer}}), 24 * 32);
    EXPECT_EQ(memory.life(early).first, 0u);
    EXPECT_EQ(memory.life(early).last, 3u);
}

TEST(PeakMemory, WhatIsNotReadAnyMoreDiesEarlier) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({1, 8}));
    const auto y = value(b, "y", {x}, 1);
    const auto z = value(b, "z", {y}, 2);
    const auto u = value(b, "u", {z}, 4);
    b.output(value(b, "v", {y, u}, 1));
    PeakMemory memory(b.graph);
    EXPECT_EQ(memory.bytes({}), 7 * 32);
    memory.set_reads(*b.graph[b.graph.outputs[0].value.value()].producer, {u});
    EXPECT_EQ(memory.bytes({}), 6 * 32);
}

}  // namespace
}  // namespace fact::compose
