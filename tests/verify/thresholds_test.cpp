#include "verify/thresholds.h"

#include <gtest/gtest.h>

#include "small_graphs.h"

namespace fact::verify {
namespace {

graph::Graph clamped(double low, double high) {
    graph::Graph g;
    const auto type = dense(DType::f32, {4, 8});
    const auto x = add_input(g, "x", type);
    add_output(g,
               add_node(g, "aten.clamp.default", {{"self", x}, {"min", low}, {"max", high}}, type));
    return g;
}

TEST(Thresholds, AreTheNumbersThatValuesMeet) {
    EXPECT_EQ(largest_threshold(clamped(-100, 90)), 100);
    EXPECT_EQ(largest_threshold(clamped(-1e9, 3)), 3) << "stands for infinity";
    graph::Graph added;
    const auto type = dense(DType::f32, {4});
    const auto x = add_input(added, "x", type);
    add_node(added, "aten.add.Tensor", {{"self", x}, {"other", 500.0}}, type);
    EXPECT_EQ(largest_threshold(added), 0) << "nothing is compared with it";
    add_node(added, "aten.gt.Scalar", {{"self", x}, {"other", std::int64_t{90}}},
             dense(DType::boolean, {4}));
    EXPECT_EQ(largest_threshold(added), 90);
}

TEST(Thresholds, OfATextAreTheNumbersItCompares) {
    ir::Kernel text;
    text.dims = {{"M", {}}};
    text.params = {{"x", {DType::f32, {ir::DimId{}}}, {}}};
    ir::Builder build(text);
    const auto x = build.param(0);
    const auto clamped = build.binary(ir::BinaryOp::max, x, build.literal(-70));
    const auto shifted = build.binary(ir::BinaryOp::add, clamped, build.literal(500));
    const auto large = build.binary(ir::BinaryOp::gt, shifted, build.literal(60));
    build.select(large, shifted, build.binary(ir::BinaryOp::min, x, build.literal(1e9)));
    EXPECT_EQ(largest_threshold(text), 70) << "500 is added, 1e9 stands for infinity";
}

}  // namespace
}  // namespace fact::verify
