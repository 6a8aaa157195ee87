#include "verify/f64.h"

#include <gtest/gtest.h>

#include "small_graphs.h"

namespace fact::verify {
namespace {

using graph::DTypeArg;
using graph::Graph;

DType dtype_argument(const graph::Node& node) {
    const auto* argument = graph::find_argument(node, "dtype");
    return argument ? std::get<DTypeArg>(*argument).dtype : DType::boolean;
}

TEST(F64, CastsAndFactoriesWidenIntegersStay) {
    Graph g;
    const auto x = add_input(g, "x", dense(DType::bf16, {4}));
    const auto i = add_input(g, "i", dense(DType::i64, {4}));
    graph::Node assertion;
    assertion.target = "aten._assert_tensor_metadata.default";
    assertion.inputs = {{"a", x}};
    g.nodes.push_back(assertion);
    const auto cast =
        add_node(g, "aten._to_copy.default", {{"self", x}, {"dtype", DTypeArg{DType::f32}, true}},
                 dense(DType::f32, {4}));
    const auto whole =
        add_node(g, "aten._to_copy.default", {{"self", i}, {"dtype", DTypeArg{DType::i32}, true}},
                 dense(DType::i32, {4}));
    const auto made = add_node(g, "aten.full.default",
                               {{"size", std::vector<std::int64_t>{4}}, {"fill_value", 0.5}},
                               dense(DType::f32, {4}));
    const auto counted =
        add_node(g, "aten.arange.default", {{"end", std::int64_t{4}}}, dense(DType::i64, {4}));
    const auto sum =
        add_node(g, "aten.add.Tensor", {{"self", cast}, {"other", made}}, dense(DType::f32, {4}));
    for (const auto v : {sum, whole, counted}) add_output(g, v);

    const auto wide = f64_rewriting(g);
    ASSERT_TRUE(wide.ok());
    ASSERT_EQ(wide->nodes.size(), 5u);  // the assert is gone
    EXPECT_EQ(graph::verify(*wide), "");
    EXPECT_EQ(dtype_argument(wide->nodes[0]), DType::f64);
    EXPECT_EQ(dtype_argument(wide->nodes[1]), DType::i32);
    EXPECT_EQ(dtype_argument(wide->nodes[2]), DType::f64);  // was torch's default type
    EXPECT_EQ(graph::find_argument(wide->nodes[3], "dtype"), nullptr);
    EXPECT_EQ((*wide)[x].type->dtype, DType::f64);
    EXPECT_EQ((*wide)[i].type->dtype, DType::i64);
    EXPECT_EQ((*wide)[sum].type->dtype, DType::f64);
    EXPECT_EQ((*wide)[sum].producer, static_cast<graph::NodeId>(4));
}

TEST(F64, RefusesToReadBits) {
    Graph g;
    const auto x = add_input(g, "x", dense(DType::bf16, {4}));
    add_output(g, add_node(g, "aten.view.dtype", {{"self", x}, {"dtype", DTypeArg{DType::i16}}},
                           dense(DType::i16, {4})));
    const auto wide = f64_rewriting(g);
    ASSERT_FALSE(wide.ok());
    EXPECT_NE(wide.error().message.find("reads the bits"), std::string::npos);
}

}  // namespace
}  // namespace fact::verify
