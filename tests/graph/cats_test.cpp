#include "graph/cats.h"

#include <gtest/gtest.h>

#include "graph/fused.h"
#include "graph/graph_json.h"
#include "graph_builder.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::Sizes;
using testing::tensor;
using Values = std::vector<ValueId>;

ValueId call(GraphBuilder& b, const std::string& name, ValueId x, TensorType type) {
    return b.node(name, std::string(kFusedTarget), {{"inputs", Values{x}}, {"call", name}}, type);
}

ValueId placed(GraphBuilder& b, const std::string& name, Values parts, std::int64_t dim,
               std::vector<bool> in_place, TensorType type, std::string_view target = kCatTarget) {
    return b.node(name, std::string(target),
                  {{"tensors", std::move(parts)}, {"dim", dim}, {"in_place", std::move(in_place)}},
                  std::move(type));
}

TEST(Cats, AreReadWithTheirDimensionFromTheLeft) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3})), y = b.input("y", tensor({2, 5}));
    b.node("cat", "aten.cat.default", {{"tensors", Values{x, y}}, {"dim", std::int64_t{-1}}},
           tensor({2, 8}));
    b.node("stack", "aten.stack.default", {{"tensors", Values{x, x}}}, tensor({2, 2, 3}));
    const auto cat = read_cat(b.graph, b.graph.nodes[0]);
    ASSERT_TRUE(cat);
    EXPECT_EQ(cat->dim, 1u);
    EXPECT_FALSE(cat->adds_dim);
    EXPECT_EQ(cat->in_place, (std::vector<bool>{false, false}));
    const auto stack = read_cat(b.graph, b.graph.nodes[1]);
    ASSERT_TRUE(stack);
    EXPECT_TRUE(stack->adds_dim);
    EXPECT_EQ(part_layouts(b.graph, *stack, tensor({2, 2, 3}))[1].offset, 6);
}

TEST(Cats, OfOtherTypesOrOfEmptyTensorsAreTorchs) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3}));
    const auto half = b.input("half", tensor({2, 3}, DType::f16));
    const auto none = b.input("none", tensor({0}));
    auto dynamic = tensor({2, 3});
    dynamic.dynamic = true;
    const auto any = b.input("any", dynamic);
    for (const auto other : {half, none, any})
        b.node(fmt::format("cat{}", index(other)), "aten.cat.default",
               {{"tensors", Values{x, other}}}, tensor({other == none ? 2 : 4, 3}));
    for (const auto& node : b.graph.nodes) EXPECT_FALSE(read_cat(b.graph, node)) << node.name;
}

TEST(Cats, PartsLieWhereTheResultsLayoutSays) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3, 4, 4})), y = b.input("y", tensor({2, 5, 4, 4}));
    const auto last = tensor({2, 8, 4, 4}, Sizes{128, 1, 32, 8});
    b.node("cat", "aten.cat.default", {{"tensors", Values{x, y}}, {"dim", std::int64_t{1}}}, last);
    const auto parts = part_layouts(b.graph, *read_cat(b.graph, b.graph.nodes[0]), last);
    EXPECT_EQ(parts[1].sizes, (Sizes{2, 5, 4, 4}));
    EXPECT_EQ(parts[1].strides, last.strides);
    EXPECT_EQ(parts[1].offset, 3);
    EXPECT_TRUE(fills_memory(last));
    EXPECT_FALSE(fills_memory(parts[1]));
    EXPECT_FALSE(fills_memory(tensor({4, 4}, Sizes{0, 1})));
    EXPECT_FALSE(fills_memory(tensor({0, 4})));
}

TEST(Cats, ACatInACatLiesInTheMemoryOfTheOuterOne) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 4}));
    const auto y = call(b, "y", x, tensor({2, 4}));
    const auto inner = placed(b, "inner", {x, y}, 1, {false, true}, tensor({2, 8}));
    const auto z = call(b, "z", inner, tensor({2, 4}));
    const auto outer = placed(b, "outer", {z, inner}, 1, {true, true}, tensor({2, 12}));
    b.output(outer);
    ASSERT_EQ(verify(b.graph), "");
    const auto all = spots(b.graph);
    ASSERT_EQ(all.size(), 4u);  // x is copied
    EXPECT_EQ(all.at(y).whole, outer);
    EXPECT_EQ(all.at(y).memory, tensor({2, 12}));
    EXPECT_EQ(all.at(y).layout.offset, 8);
    EXPECT_EQ(all.at(y).layout.strides, (Sizes{12, 1}));
    EXPECT_EQ(all.at(inner).layout.offset, 4);
    EXPECT_EQ(all.at(outer).layout, tensor({2, 12}));
    const auto again = graph_from_json(to_json(b.graph));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(read_cat(*again, again->nodes[1])->in_place, (std::vector<bool>{false, true}));
}

TEST(Cats, OnlyCallsAndCatsWriteWhereTheyAreTold) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 4}));
    const auto y = call(b, "y", x, tensor({2, 4}));
    const auto sum = b.node("sum", "aten.sort.default", {{"self", x}}, tensor({2, 4}));
    const auto cat = b.node("cat", "aten.cat.default", {{"tensors", Values{x, y}}}, tensor({4, 4}));
    EXPECT_EQ(why_not_in_place(b.graph, x), "is an input of the module");
    EXPECT_EQ(why_not_in_place(b.graph, sum), "is computed by torch");
    EXPECT_EQ(why_not_in_place(b.graph, y), "");
    EXPECT_EQ(why_not_in_place(b.graph, cat), "");
}

TEST(Cats, WhatNothingCanWriteInPlaceIsRefused) {
    const auto problem = [](auto&& add) {
        GraphBuilder b;
        const auto x = b.input("x", tensor({2, 4}));
        const auto y = call(b, "y", x, tensor({2, 4}));
        add(b, x, y);
        return verify(b.graph);
    };
    EXPECT_EQ(problem([](auto& b, auto x, auto y) {
                  placed(b, "cat", {x, y}, 0, {true, true}, tensor({4, 4}));
              }),
              "'x' cannot be written in place: it is an input of the module");
    EXPECT_EQ(problem([](auto& b, auto, auto y) {
                  placed(b, "cat", {y, y}, 0, {true, true}, tensor({4, 4}));
              }),
              "'y' is written in place twice");
    EXPECT_EQ(problem([](auto& b, auto x, auto y) {
                  placed(b, "cat", {x, y}, 0, {true}, tensor({4, 4}));
              }),
              "node 'cat' does not put its tensors together");
    EXPECT_EQ(problem([](auto& b, auto x, auto y) {
                  placed(b, "cat", {x, y}, 0, {false, true}, tensor({4, 4}, Sizes{8, 1}));
              }),
              "the result of node 'cat' does not fill its memory");
    EXPECT_EQ(problem([](auto& b, auto x, auto y) {
                  placed(b, "cat", {x, y}, 1, {false, true}, tensor({2, 2, 4}), kStackTarget);
              }),
              "");
}

}  // namespace
}  // namespace fact::graph
