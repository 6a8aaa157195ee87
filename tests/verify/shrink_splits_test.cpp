// Calls that take a tensor apart into several, over fewer of everything else.
#include <gtest/gtest.h>

#include "graph/arguments.h"
#include "small_graphs.h"
#include "verify/shrink.h"

namespace fact::verify {
namespace {

using graph::FusedCall;
using graph::Graph;
using Sizes = std::vector<std::int64_t>;

// An operator of several results, p0 and on, which are views of x.
FusedCall taken_apart(const Sizes& x, const std::string& target,
                      std::vector<graph::NamedArgument> how, const std::vector<Sizes>& parts) {
    FusedCall call;
    auto& g = call.original;
    const auto whole = add_input(g, "x", dense(DType::f32, x));
    graph::Node node;
    node.target = target;
    node.name = "parts";
    node.returns_list = true;
    node.inputs = {{"self", whole}};
    node.inputs.insert(node.inputs.end(), how.begin(), how.end());
    for (const auto& sizes : parts) {
        auto type = dense(DType::f32, x);
        if (sizes.size() < x.size())  // unbind.int
            type.strides.erase(type.strides.begin() + *graph::int_argument(node, "dim"));
        type.sizes = sizes;
        const auto name = "p" + std::to_string(node.outputs.size());
        node.outputs.push_back(g.add_value({name, std::move(type), graph::NodeId{0}}));
    }
    g.nodes.push_back(node);
    for (const auto part : node.outputs)
        add_output(g, add_node(g, "aten.tanh.default", {{"self", part}},
                               dense(DType::f32, parts[g.outputs.size()])));
    return call;
}

Graph shrunk_to(const FusedCall& call, double most) {
    const auto shrunk = shrink(call, {}, most);
    EXPECT_TRUE(shrunk.has_value());
    if (!shrunk) return call.original;
    EXPECT_LE(work(shrunk->call.original), most);
    return shrunk->call.original;
}

// Batch and tokens are fewer in the whole and in every part, whichever dimension is taken apart.
// One part is as long as the batch is large: its length is no size of the result's first dimension.
TEST(ShrinkSplits, PartsKeepTheirLengths) {
    const struct {
        const char* target;
        graph::NamedArgument how;
        Sizes lengths;
    } splits[] = {
        {"aten.split.Tensor", {"split_size", std::int64_t{64}}, {64, 64, 64}},
        {"aten.split.Tensor", {"split_size", std::int64_t{80}}, {80, 80, 32}},
        {"aten.split.Tensor", {"split_size", std::int64_t{128}}, {128, 64}},
        {"aten.chunk.default", {"chunks", std::int64_t{3}}, {64, 64, 64}},
        {"aten.chunk.default", {"chunks", std::int64_t{5}}, {39, 39, 39, 39, 36}},
        {"aten.split_with_sizes.default", {"split_sizes", Sizes{64, 96, 32}}, {64, 96, 32}},
    };
    const auto sizes = [](const Sizes& others, std::int64_t dim, std::int64_t length) {
        Sizes all = others;
        all.insert(all.begin() + (dim < 0 ? dim + 3 : dim), length);
        return all;
    };
    for (const auto& [target, how, lengths] : splits)
        for (const std::int64_t dim : {0, 1, 2, -1, -2}) {
            std::vector<Sizes> parts;
            for (const auto length : lengths) parts.push_back(sizes({64, 2048}, dim, length));
            const auto small = shrunk_to(
                taken_apart(sizes({64, 2048}, dim, 192), target, {how, {"dim", dim}}, parts), 1e6);
            Sizes others = type_of(small, "x").sizes;
            others.erase(others.begin() + (dim < 0 ? dim + 3 : dim));
            EXPECT_LT(others[0], 64) << target << " " << dim;
            EXPECT_LT(others[1], 2048) << target << " " << dim;
            EXPECT_EQ(type_of(small, "x").sizes, sizes(others, dim, 192)) << target << " " << dim;
            for (std::size_t i = 0; i < lengths.size(); ++i)
                for (const auto& name : {"p" + std::to_string(i), "n" + std::to_string(i + 1)})
                    EXPECT_EQ(type_of(small, name).sizes, sizes(others, dim, lengths[i]))
                        << target << " " << dim << " " << name;
            EXPECT_EQ(small.nodes[0].inputs[1], how) << target << " " << dim;
        }
}

// Two halves are as long as the whole allows, and are asked for as such.
TEST(ShrinkSplits, HalvesAreInProportion) {
    const struct {
        const char* target;
        graph::NamedArgument how;
    } splits[] = {{"aten.split.Tensor", {"split_size", std::int64_t{96}}},
                  {"aten.split_with_sizes.default", {"split_sizes", Sizes{96, 96}}},
                  {"aten.chunk.default", {"chunks", std::int64_t{2}}}};
    for (const auto& [target, how] : splits) {
        const auto small =
            shrunk_to(taken_apart({64, 2048, 192}, target, {how, {"dim", std::int64_t{2}}},
                                  {{64, 2048, 96}, {64, 2048, 96}}),
                      1e4);
        const auto x = type_of(small, "x").sizes;
        const auto half = x[2] / 2;
        EXPECT_LT(half, 96) << target;
        EXPECT_EQ(2 * half, x[2]) << target;
        for (const auto* name : {"p0", "p1", "n1", "n2"})
            EXPECT_EQ(type_of(small, name).sizes, (Sizes{x[0], x[1], half})) << target;
        const auto& node = small.nodes[0];
        if (node.target == "aten.split.Tensor") {
            EXPECT_EQ(graph::int_argument(node, "split_size"), half);
        } else if (node.target == "aten.chunk.default") {
            EXPECT_EQ(graph::int_argument(node, "chunks"), 2);
        } else {
            EXPECT_EQ(std::get<Sizes>(*graph::find_argument(node, "split_sizes")),
                      (Sizes{half, half}));
        }
    }
}

// Queries, keys and values of one tensor: as many as there were, each without that dimension.
TEST(ShrinkSplits, WhatIsUnboundLacksItsDimension) {
    for (const std::int64_t dim : {0, 1, 2, 3})
        for (const std::int64_t count : {2, 3, 8}) {
            const Sizes part{64, 2048, 32};
            Sizes x = part;
            x.insert(x.begin() + dim, count);
            const auto small = shrunk_to(taken_apart(x, "aten.unbind.int", {{"dim", dim}},
                                                     std::vector(static_cast<size_t>(count), part)),
                                         1e5);
            auto sizes = type_of(small, "x").sizes;
            EXPECT_EQ(sizes[static_cast<std::size_t>(dim)], count);
            sizes.erase(sizes.begin() + dim);
            EXPECT_LT(sizes[0], 64);
            EXPECT_LT(sizes[1], 2048);
            EXPECT_LT(sizes[2], 32);
            for (std::int64_t i = 0; i < count; ++i) {
                EXPECT_EQ(type_of(small, "p" + std::to_string(i)).sizes, sizes) << dim << " " << i;
                EXPECT_EQ(type_of(small, "n" + std::to_string(i + 1)).sizes, sizes);
            }
        }
}

}  // namespace
}  // namespace fact::verify
