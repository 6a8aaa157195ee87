// Nothing of a graph is invisible: every operator is in a pattern or in a list, with a reason.
#include <gtest/gtest.h>

#include <random>

#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "graphs.h"
#include "match/discover.h"
#include "test_data.h"

namespace fact::match {
namespace {

using graph::ValueId;
using testing::Net;
using testing::Sizes;
using testing::unaccounted;

const std::vector<std::string> kNone;

TEST(Account, OfEveryArchiveOfTheTests) {
    for (const std::string file : {"match/data/block.pt2", "match/data/cases.pt2",
                                   "graph/data/features.pt2", "graph/data/gpt_block.pt2"}) {
        const auto archive = graph::read_pt2(std::string(FACT_TEST_DATA) + "/../" + file);
        ASSERT_TRUE(archive) << archive.error().text();
        const auto graph = graph::canonicalize(archive->graph);
        EXPECT_EQ(unaccounted(graph, discover(graph, {}, archive->weights)), kNone) << file;
        EXPECT_EQ(unaccounted(graph, discover(graph, {})), kNone) << file;
        EXPECT_EQ(unaccounted(archive->graph, discover(archive->graph, {})), kNone) << file;
    }
}

TEST(Account, ASumOfAllElementsIsWork) {
    Net net;
    const ValueId x = net.input("x", {64, 64});
    net.output(net.op("sum", "sum.default", {{"self", x}}, {}));
    const auto found = net.discover();
    EXPECT_TRUE(found.idle.empty());
    EXPECT_EQ(found.patterns.size(), 1u);
}

TEST(Account, WhatIsNoWorkSaysSo) {
    Net net;
    const ValueId x = net.input("x", {64, 32}), one = net.input("one", {});
    net.output(net.permute("turned", x, {1, 0}));
    net.output(net.op("two", "add.Tensor", {{"self", one}, {"other", one}}, {}));
    net.output(net.op("indices", "arange.default", {{"end", std::int64_t{8}}}, {8}));
    net.output(net.op("noise", "rand.default", {{"size", Sizes{8}}}, {8}));
    const auto found = net.discover();
    std::vector<std::string> said;
    for (const auto& item : found.idle) said.push_back(item.node + ": " + item.reason);
    EXPECT_EQ(said, (std::vector<std::string>{"turned: it is a view, which moves no data",
                                              "two: it is a single number",
                                              "indices: it makes a constant"}));
    EXPECT_EQ(testing::reason_for(found, "noise"), "it draws random numbers: it stays with torch");
}

TEST(Account, WhatIsNotKnownIsNotCalledANumber) {
    Net net;
    const ValueId x = net.input("x", {64, 64});
    const ValueId product = net.op("product", "mul.Tensor", {{"self", x}, {"other", x}}, {64, 64});
    net.graph[x].type.reset();  // complex numbers have no type here
    net.graph[product].type.reset();
    net.output(product);
    const auto found = net.discover();
    ASSERT_EQ(found.left_alone.size(), 1u);
    EXPECT_EQ(found.left_alone.front().node, "product");
}

// Operators strung together at random, over square matrices so that everything fits everything.
Net random_net(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t count) { return random() % count; };
    Net net;
    std::vector<ValueId> values{net.input("x", {64, 64}), net.input("y", {64, 64})};
    const std::size_t count = 3 + below(14);
    for (std::size_t i = 0; i < count; ++i) {
        const auto name = "v" + std::to_string(i);
        const ValueId a = values[below(values.size())], b = values[below(values.size())];
        switch (below(10)) {
            case 0:
            case 1:
                values.push_back(net.linear(name, a, net.weight("w" + name, {64, 64})));
                break;
            case 2:
                values.push_back(net.op(name, "mm.default", {{"self", a}, {"mat2", b}}, {64, 64}));
                break;
            case 3:
                values.push_back(net.pointwise(name, "add.Tensor", a, b));
                break;
            case 4:
                values.push_back(net.pointwise(name, "gelu.default", a));
                break;
            case 5:
                values.push_back(net.permute(name, a, {1, 0}));
                break;
            case 6:
                values.push_back(
                    net.op(name, "softmax.int", {{"self", a}, {"dim", std::int64_t{1}}}, {64, 64}));
                break;
            case 7:
                values.push_back(net.op(name, "logcumsumexp.default",
                                        {{"self", a}, {"dim", std::int64_t{0}}}, {64, 64}));
                break;
            case 8:
                values.push_back(net.op(
                    name, "layer_norm.default",
                    {{"input", a}, {"normalized_shape", Sizes{64}}, {"eps", 1e-5}}, {64, 64}));
                break;
            default:
                net.output(net.op(name, "sum.default", {{"self", a}}, {}));
                break;
        }
    }
    for (const ValueId value : values)
        if (below(4) == 0 || value == values.back()) net.output(value);
    return net;
}

TEST(Account, OfRandomGraphs) {
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        const Net net = random_net(seed);
        EXPECT_EQ(unaccounted(net.graph, discover(net.graph, {})), kNone) << seed;
        const auto graph = graph::canonicalize(net.graph);
        EXPECT_EQ(unaccounted(graph, discover(graph, {})), kNone) << seed;
    }
}

}  // namespace
}  // namespace fact::match
