// Formulas over expressions: what fits, in whichever order, and what does not.
#include "match/formulas/formula.h"

#include <gtest/gtest.h>

#include "match/operators/call_formula.h"

namespace fact::match {
namespace {

using ir::BinaryOp;
using ir::ExprId;

struct FormulaRows {
    ir::Kernel kernel;
    ir::Builder b{kernel};
    ir::DimId m = kernel.dim("M"), n = kernel.dim("N");
    ExprId x = param("x"), y = param("y");

    ExprId param(const std::string& name) {
        kernel.params.push_back({name, {DType::f32, {m, n}}, {}});
        return b.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    ExprId mean(ExprId of) {
        return b.binary(BinaryOp::div, b.reduce(ir::ReduceOp::sum, of, {n}), b.extent(n));
    }
    std::optional<Meanings> read(ExprId id, const Formula& formula) {
        Numbering numbering(kernel, Ignored::rounding);
        return FormulaReader(numbering, n).read(id, formula);
    }
};

TEST(Formula, ALetterIsOneExpression) {
    FormulaRows rows;
    const ExprId mean_x = rows.mean(rows.x);
    const ExprId centered = rows.b.binary(BinaryOp::sub, rows.x, mean_x),
                 other = rows.b.binary(BinaryOp::sub, rows.y, mean_x);
    const auto found = rows.read(centered, any('a') - mean(any('a')));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->exprs.at('a'), rows.x);
    EXPECT_FALSE(rows.read(other, any('a') - mean(any('a'))));
    EXPECT_TRUE(rows.read(other, any('a') - mean(any('b'))));
}

TEST(Formula, WhatIsEqualIsOneWhereverItIsWritten) {
    FormulaRows rows;
    const ExprId once = rows.b.binary(BinaryOp::mul, rows.x, rows.y),
                 again = rows.b.binary(BinaryOp::mul, rows.x, rows.y);
    EXPECT_TRUE(rows.read(rows.b.binary(BinaryOp::sub, once, again), any('a') - any('a')));
}

TEST(Formula, SumsAndProductsFitInEitherOrder) {
    FormulaRows rows;
    const ExprId eps = rows.b.literal(1e-5);
    const ExprId first = rows.b.binary(BinaryOp::add, eps, rows.mean(rows.x));
    const auto found = rows.read(first, mean(any('a')) + number('e'));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->numbers.at('e'), 1e-5);
    const ExprId less = rows.b.binary(BinaryOp::sub, eps, rows.mean(rows.x));
    EXPECT_FALSE(rows.read(less, mean(any('a')) - number('e')));
}

// The first way to read (x + y) * y binds a to x; only the other one fits.
TEST(Formula, AWayThatFailsLaterIsTakenBack) {
    FormulaRows rows;
    const ExprId sum = rows.b.binary(BinaryOp::add, rows.x, rows.y);
    const auto found =
        rows.read(rows.b.binary(BinaryOp::mul, sum, rows.y), (any('a') + any('b')) * any('a'));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->exprs.at('a'), rows.y);
    EXPECT_EQ(found->exprs.at('b'), rows.x);
    EXPECT_TRUE(rows.read(rows.b.unary(ir::UnaryOp::sqrt, sum),
                          either({rsqrt(any('a')), sqrt(number('e')), sqrt(any('a'))})));
}

graph::Node call(const std::string& target, std::vector<graph::NamedArgument> inputs) {
    graph::Node node;
    node.target = target;
    node.inputs = std::move(inputs);
    return node;
}

TEST(CallFormula, NamesArgumentsByTheirPlace) {
    const CallFormula fill("masked_fill(scores, hides, low)");
    const auto node =
        call("aten.masked_fill.Scalar",
             {{"self", graph::ValueId{3}}, {"mask", graph::ValueId{5}}, {"value", -1e9}});
    const auto found = fill.read(node);
    ASSERT_TRUE(found);
    EXPECT_EQ(std::get<graph::ValueId>(found->at("hides")->value), graph::ValueId{5});
    EXPECT_EQ(found->at("low")->name, "value");
    EXPECT_FALSE(CallFormula("where(shows, scores, low)").read(node));
    EXPECT_FALSE(CallFormula("masked_fill(scores, hides)").read(node));
}

TEST(CallFormula, FurtherArgumentsMustSayNothing) {
    const CallFormula add("add(scores, added)"), div("div(scores, factor)");
    std::vector<graph::NamedArgument> both{{"self", graph::ValueId{1}},
                                           {"other", graph::ValueId{2}}};
    const auto with = [&](graph::NamedArgument more) {
        auto inputs = both;
        inputs.push_back(std::move(more));
        return inputs;
    };
    EXPECT_TRUE(add.read(call("aten.add.Tensor", both)));
    EXPECT_TRUE(add.read(call("aten.add.Tensor", with({"alpha", std::int64_t{1}, true}))));
    EXPECT_FALSE(add.read(call("aten.add.Tensor", with({"alpha", std::int64_t{2}, true}))));
    EXPECT_TRUE(
        div.read(call("aten.div.Tensor_mode", with({"rounding_mode", graph::None{}, true}))));
    EXPECT_FALSE(div.read(
        call("aten.div.Tensor_mode", with({"rounding_mode", std::string("floor"), true}))));
    EXPECT_FALSE(add.read(call("mine.add.default", both)));
}

}  // namespace
}  // namespace fact::match
