#include "verify/resize.h"

#include <gtest/gtest.h>

#include "graph/arguments.h"
#include "small_graphs.h"
#include "verify/shrink.h"

namespace fact::verify {
namespace {

using Sizes = std::vector<std::int64_t>;

// y[b, t, n] = x[b, t, k] @ w[n, k]^T
graph::FusedCall linear_call(Sizes x, Sizes w) {
    graph::FusedCall call;
    auto& g = call.original;
    const Sizes y{x[0], x[1], w[0]};
    const auto x_id = add_input(g, "x", dense(DType::bf16, std::move(x)));
    const auto w_id = add_input(g, "w", dense(DType::bf16, std::move(w)));
    add_output(g, add_node(g, "aten.linear.default", {{"input", x_id}, {"weight", w_id}},
                           dense(DType::bf16, y)));
    return call;
}

const graph::TensorType& type_in(const Resized& resized, std::string_view name) {
    return type_of(resized.call.original, name);
}

TEST(OtherSizes, OddFirstThenAlignedThenKept) {
    const auto all = other_sizes(linear_call({128, 512, 768}, {3072, 768}), {}, 1e11);
    ASSERT_EQ(all.size(), 3u);
    for (const auto& resized : all) {
        const auto x = type_in(resized, "x").sizes, w = type_in(resized, "w").sizes;
        EXPECT_EQ(x[2], w[1]);
        EXPECT_EQ(type_in(resized, "n0").sizes, (Sizes{x[0], x[1], w[0]}));
        EXPECT_EQ(x[0] % 2, 1);
        EXPECT_EQ(x[1] % 2, 1);
        EXPECT_EQ(type_in(resized, "x").strides, (Sizes{x[1] * x[2], x[2], 1}));
    }
    EXPECT_EQ(type_in(all[0], "x").sizes[2] % 2, 1);
    EXPECT_EQ(type_in(all[0], "w").sizes[0] % 2, 1);
    for (const auto extent : {type_in(all[1], "x").sizes[2], type_in(all[1], "w").sizes[0]}) {
        EXPECT_EQ(extent % 16, 8);
        EXPECT_GT(extent, 256);
    }
    EXPECT_NE(type_in(all[1], "x").sizes[2], type_in(all[1], "w").sizes[0]);
    EXPECT_EQ(type_in(all[2], "w").sizes, (Sizes{3072, 768}));
    EXPECT_NE(all[1].note.find("3072 -> "), std::string::npos);
}

TEST(OtherSizes, AreCheapAndSmallCallsHaveThemToo) {
    const auto all = other_sizes(linear_call({128, 512, 768}, {3072, 768}), {}, 2e7);
    ASSERT_FALSE(all.empty());
    EXPECT_LE(work(all[0].call.original), 2e7);
    EXPECT_EQ(type_in(all[0], "x").sizes[0] % 2, 1);
    const auto tiny = other_sizes(linear_call({2, 8, 16}, {16, 16}), {}, 1e9);
    ASSERT_EQ(tiny.size(), 3u);
    EXPECT_EQ(type_in(tiny[0], "x").sizes, (Sizes{3, 7, 15}));
    EXPECT_EQ(type_in(tiny[1], "x").sizes, (Sizes{3, 7, 8}));
}

// Halves grow and shrink with the whole, and begin where they did.
TEST(OtherSizes, HalvesStayHalves) {
    graph::FusedCall call = linear_call({128, 512, 768}, {3072, 768});
    auto& g = call.original;
    const auto whole = *g.outputs[0].value;
    g.outputs.clear();
    const auto half = [&](std::int64_t start) {
        return add_node(g, "aten.slice.Tensor",
                        {{"self", whole},
                         {"dim", std::int64_t{2}},
                         {"start", start},
                         {"end", start + 1536},
                         {"step", std::int64_t{1}}},
                        dense(DType::bf16, {128, 512, 1536}));
    };
    const auto first = half(0), second = half(1536);
    add_output(g, add_node(g, "aten.mul.Tensor", {{"self", first}, {"other", second}},
                           dense(DType::bf16, {128, 512, 1536})));
    const auto all = other_sizes(call, {}, 1e11);
    ASSERT_EQ(all.size(), 3u);
    const auto columns = type_in(all[0], "n3").sizes[2];
    EXPECT_EQ(columns % 2, 1);
    EXPECT_EQ(type_in(all[0], "w").sizes[0], 2 * columns);
    const auto& nodes = all[0].call.original.nodes;
    EXPECT_EQ(graph::int_argument(nodes[1], "start"), 0);
    EXPECT_EQ(graph::int_argument(nodes[1], "end"), columns);
    EXPECT_EQ(graph::int_argument(nodes[2], "start"), columns);
    EXPECT_EQ(graph::int_argument(nodes[2], "end"), 2 * columns);
}

// A mask of compared coordinates follows the scores it is added to.
TEST(OtherSizes, RangesCountAsFarAsTheirResults) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto scores = add_input(g, "scores", dense(DType::f32, {4, 64, 64}));
    const auto places =
        add_node(g, "aten.arange.default", {{"end", std::int64_t{64}}}, dense(DType::f32, {64}));
    add_output(g, add_node(g, "aten.add.Tensor", {{"self", scores}, {"other", places}},
                           dense(DType::f32, {4, 64, 64})));
    const auto all = other_sizes(call, {}, 1e9);
    ASSERT_FALSE(all.empty());
    const auto columns = type_in(all[0], "scores").sizes[2];
    EXPECT_NE(columns, 64);
    EXPECT_EQ(graph::int_argument(all[0].call.original.nodes[0], "end"), columns);
}

// The mean over dimensions 2 and 3 leaves 2 rows of 3.
TEST(OtherSizes, NumbersOfDimensionsAreNoSizes) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto x = add_input(g, "x", dense(DType::f32, {2, 3, 16, 16}));
    add_output(g, add_node(g, "aten.mean.dim", {{"self", x}, {"dim", Sizes{2, 3}}},
                           dense(DType::f32, {2, 3})));
    const auto all = other_sizes(call, {}, 1e9);
    ASSERT_FALSE(all.empty());
    for (const auto& resized : all) {
        const auto sizes = type_in(resized, "x").sizes;
        EXPECT_EQ(type_in(resized, "n0").sizes, (Sizes{sizes[0], sizes[1]}));
        const auto& node = resized.call.original.nodes[0];
        EXPECT_EQ(std::get<Sizes>(*graph::find_argument(node, "dim")), (Sizes{2, 3}))
            << resized.note;
    }
}

TEST(OtherSizes, FixedExtentsStay) {
    graph::FusedCall call;
    auto& g = call.original;
    const auto x = add_input(g, "x", dense(DType::f32, {8, 8}));
    add_output(g, add_node(g, "aten.unheard_of.default", {{"self", x}}, dense(DType::f32, {5, 7})));
    EXPECT_TRUE(other_sizes(call, {}, 1e9).empty());
}

}  // namespace
}  // namespace fact::verify
