#include "graph/channels_last.h"

#include <gtest/gtest.h>

#include "graph_builder.h"

namespace fact::graph {
namespace {

using Ints = std::vector<std::int64_t>;
using testing::tensor;

// Images of two samples and 8 rows of 6 pixels, as long as nothing else is said.
struct Picture : testing::GraphBuilder {
    ValueId x = input("x", tensor({2, 32, 8, 6}));

    ValueId convolution(const std::string& name, ValueId from, std::int64_t taps = 3,
                        std::int64_t features = 32) {
        const Ints sizes = graph[from].type->sizes;
        const ValueId weight = input(name + "_weight", tensor({features, sizes[1], taps, taps}));
        return node(name, "aten.conv2d.default",
                    {{"input", from, false},
                     {"weight", weight, false},
                     {"padding", Ints{taps / 2, taps / 2}, false}},
                    tensor({sizes[0], features, sizes[2], sizes[3]}));
    }
    ValueId relu(const std::string& name, ValueId from) {
        return node(name, "aten.relu.default", {{"self", from, false}}, *graph[from].type);
    }
    Graph kept() const {
        Graph result = keep_channels_last(graph);
        EXPECT_EQ(verify(result), "");
        return result;
    }
};

// "name: 288 36 6 1" for each node.
std::vector<std::string> strides_of(const Graph& graph) {
    std::vector<std::string> lines;
    for (const Node& node : graph.nodes) {
        lines.push_back(node.name + ":");
        for (const std::int64_t stride : graph[node.outputs.front()].type->strides)
            lines.back() += " " + std::to_string(stride);
    }
    return lines;
}

std::vector<std::string> names_of(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes) names.push_back(node.name);
    return names;
}

using Lines = std::vector<std::string>;

TEST(ChannelsLast, ChainsAreCopiedOnlyAtTheirEnds) {
    Picture net;
    const ValueId first = net.relu("relu", net.convolution("first", net.x));
    const ValueId second = net.convolution("second", first);
    net.output(net.convolution("third", second));
    const Graph kept = net.kept();
    EXPECT_EQ(strides_of(kept), (Lines{
                                    "x_channels_last: 1536 1 192 32",
                                    "first: 1536 1 192 32",
                                    "relu: 1536 1 192 32",
                                    "second: 1536 1 192 32",
                                    "third: 1536 1 192 32",
                                    "third_channels_first: 1536 48 6 1",
                                }));
    EXPECT_EQ(kept.nodes.front().target, "aten.clone.default");
    EXPECT_EQ(*find_argument(kept.nodes.front(), "memory_format"), Argument{MemoryFormatArg{2}});
    EXPECT_EQ(*find_argument(kept.nodes.back(), "memory_format"), Argument{MemoryFormatArg{1}});
    EXPECT_TRUE(changes_layout(kept, kept.nodes.front()));
    EXPECT_EQ(kept[*kept.outputs[0].value].name, "third_channels_first");
    // Applied again it finds nothing to save.
    EXPECT_EQ(strides_of(keep_channels_last(kept)), strides_of(kept));
}

TEST(ChannelsLast, WhatSavesNothingStaysAsItIs) {
    Picture one;
    one.output(one.relu("relu", one.convolution("first", one.x)));
    EXPECT_EQ(names_of(one.kept()), (Lines{"first", "relu"}));
    Picture plain;  // products of the tensor itself
    ValueId value = plain.x;
    for (const char* name : {"a", "b", "c", "d"}) value = plain.convolution(name, value, 1);
    plain.output(value);
    EXPECT_EQ(names_of(plain.kept()), (Lines{"a", "b", "c", "d"}));
}

TEST(ChannelsLast, TheUsersOwnChannelsLastStays) {
    testing::GraphBuilder net;
    const TensorType type = tensor({2, 32, 8, 6}, Ints{1536, 1, 192, 32});
    ValueId value = net.input("x", type);
    const ValueId weight = net.input("weight", tensor({32, 32, 3, 3}));
    for (const char* name : {"a", "b", "c"})
        value = net.node(
            name, "aten.conv2d.default",
            {{"input", value, false}, {"weight", weight, false}, {"padding", Ints{1, 1}, false}},
            type);
    net.output(value);
    EXPECT_EQ(names_of(keep_channels_last(net.graph)), (Lines{"a", "b", "c"}));
}

// A view needs channels first, a smaller operand or result has no layout, and a value that is read
// in both layouts is copied once.
TEST(ChannelsLast, OthersReadWhatTheyDid) {
    Picture net;
    const ValueId a = net.convolution("a", net.x), b = net.convolution("b", a);
    const ValueId pooled =
        net.node("pooled", "aten.mean.dim",
                 {{"self", b, false}, {"dim", Ints{2, 3}, false}, {"keepdim", true, false}},
                 tensor({2, 32, 1, 1}));
    const ValueId scale = net.convolution("scale", pooled, 1);
    const ValueId scaled =
        net.node("scaled", "aten.mul.Tensor", {{"self", b, false}, {"other", scale, false}},
                 tensor({2, 32, 8, 6}));
    const ValueId c = net.convolution("c", scaled), d = net.convolution("d", c);
    const ValueId e = net.convolution("e", d);
    for (const char* name : {"view", "flat"})
        net.output(net.node(name, "aten.view.default",
                            {{"self", d, false}, {"size", Ints{2, 1536}, false}},
                            tensor({2, 1536})));
    net.output(e);
    const Graph kept = net.kept();
    EXPECT_EQ(names_of(kept),
              (Lines{"x_channels_last", "a", "b", "pooled", "scale", "scaled", "c", "d", "e",
                     "d_channels_first", "view", "flat", "e_channels_first"}));
    const auto reads = [&](std::size_t node, std::size_t argument) {
        return kept[std::get<ValueId>(kept.nodes[node].inputs[argument].value)].name;
    };
    EXPECT_EQ(reads(8, 0), "d");
    EXPECT_EQ(reads(10, 0), "d_channels_first");
    EXPECT_EQ(reads(11, 0), "d_channels_first");
    EXPECT_EQ(kept[kept.nodes[4].outputs[0]].type->strides, (Ints{32, 1, 1, 1}));
}

// A kernel reads windows of fp32 images that are channels last only in blocks of 32 channels.
TEST(ChannelsLast, FewChannelsInFp32StayFirst) {
    Picture net;
    ValueId value = net.x;
    for (const char* name : {"a", "b", "c", "d"}) value = net.convolution(name, value);
    const ValueId few = net.convolution("few", net.convolution("narrow", value, 1, 16), 3, 16);
    net.output(net.convolution("f", net.convolution("e", net.convolution("wide", few, 1))));
    EXPECT_EQ(names_of(net.kept()),
              (Lines{"x_channels_last", "a", "b", "c", "d", "narrow", "narrow_channels_first",
                     "few", "few_channels_last", "wide", "e", "f", "f_channels_first"}));
    Picture few_only;
    value = few_only.input("few", tensor({2, 16, 8, 6}));
    for (const char* name : {"a", "b", "c"}) value = few_only.convolution(name, value, 3, 16);
    few_only.output(value);
    EXPECT_EQ(names_of(few_only.kept()), (Lines{"a", "b", "c"}));
}

// On a GPU torch's group norm is channels first whatever it reads.
TEST(ChannelsLast, GroupNormsResultsAreCopied) {
    Picture net;
    const ValueId a = net.convolution("a", net.x), b = net.convolution("b", a);
    const ValueId norm = net.node("norm", "aten.group_norm.default",
                                  {{"input", b, false}, {"num_groups", std::int64_t{4}, false}},
                                  tensor({2, 32, 8, 6}));
    net.output(net.convolution("c", norm));
    EXPECT_EQ(strides_of(net.kept()), (Lines{
                                          "x_channels_last: 1536 1 192 32",
                                          "a: 1536 1 192 32",
                                          "b: 1536 1 192 32",
                                          "norm: 1536 48 6 1",
                                          "norm_channels_last: 1536 1 192 32",
                                          "c: 1536 1 192 32",
                                          "c_channels_first: 1536 48 6 1",
                                      }));
}

TEST(ChannelsLast, OperatorsThatAreNotKnownToKeepItEndIt) {
    Picture net;
    const ValueId a = net.convolution("a", net.x);
    const ValueId dropped = net.node(
        "dropped", "aten.dropout.default",
        {{"input", a, false}, {"p", 0.5, false}, {"train", true, false}}, tensor({2, 32, 8, 6}));
    net.output(net.convolution("b", dropped));
    EXPECT_EQ(names_of(net.kept()), (Lines{"a", "dropped", "b"}));
}

}  // namespace
}  // namespace fact::graph
