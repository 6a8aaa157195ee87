// Results whose dimensions mix rows and columns are stored where they belong by their product.
#include <gtest/gtest.h>

#include "../golden.h"
#include "built_kernel.h"
#include "lower/pipeline/cut.h"
#include "lower/pipeline/lower.h"
#include "lower/pipeline/pointwise_first.h"
#include "lower/product/scattered_output.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;

// The four phases of a result of twice the size: w[F*A*A2, K] @ x[B, I, I2, K], seen as
// [B, F, I*A, I2*A2], perhaps less its first row and its last column.
struct Phases : Fixture {
    DimId batch = kernel.dim("B"), f = kernel.dim("F"), i = kernel.dim("I"), i2 = kernel.dim("I2");
    DimId a = constant("A", 2), a2 = constant("A2", 2);
    DimId rows = kernel.factored_dim({f, a, a2}), columns = kernel.factored_dim({i, i2});
    DimId high = kernel.factored_dim({i, a}), wide = kernel.factored_dim({i2, a2});

    explicit Phases(std::string name) : Fixture(std::move(name)) {}
    DimId constant(const char* name, std::int64_t extent) {
        kernel.dims.push_back({name, extent});
        return static_cast<DimId>(kernel.dims.size() - 1);
    }
    ExprId result() {
        const ExprId w = param("w", DType::bf16, {rows, k});
        const ExprId x = param("x", DType::bf16, {batch, i, i2, k});
        const ExprId acc = b.product(w, b.transpose(b.view(x, {batch, columns, k})));
        const ExprId apart = b.view(acc, {batch, f, a, a2, i, i2});
        return b.view(b.permute(apart, {batch, f, i, a, i2, a2}), {batch, f, high, wide});
    }
    ExprId less_its_ends(ExprId x) {
        const DimId e = constant("E", 1), e2 = constant("E2", 1);
        kernel.dims.push_back({"P", {}, {}, ir::WindowRule{high, e, 1, 1, -1, 0}});
        kernel.dims.push_back({"Q", {}, {}, ir::WindowRule{wide, e2, 1, 1, 0, -1}});
        return b.reduce(ir::ReduceOp::max, b.window(x, {kernel.dim("P"), kernel.dim("Q")}),
                        {e, e2});
    }
    ExprId plus_bias(ExprId x) {
        return b.binary(BinaryOp::add, x, param("bias", DType::f32, {f}));
    }
    std::vector<StageKind> kinds(const std::string& arch) const {
        LowerOptions options;
        options.arch = arch;
        EXPECT_EQ(ir::verify(kernel), "");
        const auto lowered = lower(kernel, options);
        EXPECT_TRUE(lowered.ok()) << lowered.error().text();
        EXPECT_TRUE(lowered && inconsistency(lowered->record).empty());
        std::vector<StageKind> all;
        const auto pipeline = stages(kernel, options);
        for (const Stage& stage : pipeline->stages) all.push_back(stage.kind);
        return all;
    }
};

constexpr StageKind kRows = StageKind::rows, kProduct = StageKind::product;

TEST(Scattered, AProductStoresItsPhases) {
    Phases p("phases");
    p.output("y", DType::f32, p.b.unary(ir::UnaryOp::relu, p.plus_bias(p.result())));
    // The bias is repeated for the phases first.
    EXPECT_EQ(p.kinds("sm90a"), (std::vector{kRows, kProduct}));
    EXPECT_EQ(p.kinds("sm80"), (std::vector{kProduct, kRows}));
}

TEST(Scattered, TwoPhasesThatAreNeighboursAreStoredTogether) {
    const auto lowered_as = [](DType dtype, bool cut) {
        Phases p("phases");
        const ExprId sum = p.plus_bias(p.result());
        p.output("y", dtype, cut ? p.less_its_ends(sum) : sum);
        return *lower(p.kernel, {});
    };
    const auto checks_pairs = [](const Lowered& lowered) {  // of y, after w, x and the bias
        return std::ranges::any_of(lowered.record.alignments, [](const Alignment& rule) {
            return rule.tensor == 3 && rule.bytes == 8;
        });
    };
    const auto whole = lowered_as(DType::f32, false), cut = lowered_as(DType::f32, true);
    EXPECT_NE(whole.source.find("kRowsTogether = 2, kStoredTogether = 2;"), std::string::npos);
    EXPECT_TRUE(checks_pairs(whole));
    EXPECT_NE(cut.source.find("kRowsTogether = 2, kStoredTogether = 1;"), std::string::npos);
    EXPECT_FALSE(checks_pairs(cut));
}

TEST(Scattered, WhatIsCutOffIsNotStored) {
    Phases p("cut_phases");
    p.output("y", DType::bf16, p.plus_bias(p.less_its_ends(p.result())));
    EXPECT_EQ(p.kinds("sm90a"), (std::vector{kRows, kProduct}));
    const auto lowered = lower(p.kernel, {});
    expect_golden("cut_phases.cu", lowered->source);
    expect_golden("cut_phases.json", to_json(lowered->record));
}

TEST(Scattered, WhatNeedsTheWholeResultComesAfterwards) {
    Phases p("residual");
    const ExprId sum = p.plus_bias(p.result());
    const ExprId r = p.param("r", DType::f32, {p.batch, p.f, p.high, p.wide});
    p.output("y", DType::f32, p.b.binary(BinaryOp::mul, p.b.unary(ir::UnaryOp::tanh, sum), r));
    EXPECT_EQ(p.kinds("sm90a"), (std::vector{kRows, kProduct, kRows}));

    Phases norm("normalised");
    norm.output("y", DType::f32, norm.softmax(norm.plus_bias(norm.result()), norm.wide));
    EXPECT_EQ(norm.kinds("sm90a"), (std::vector{kRows, kProduct, kRows}));
}

// A tensor map needs rows in multiples of 16 bytes; the operands have them as soon as K has.
TEST(Scattered, RaggedRowsAreStoredOneByOne) {
    const auto is_ragged = [](std::int64_t n, std::int64_t k, const std::string& arch) {
        Fixture f("head");
        const ExprId x = f.param("x", DType::bf16, {f.m, f.k}),
                     w = f.param("w", DType::bf16, {f.n, f.k});
        f.output("y", DType::bf16, f.b.product(x, f.b.transpose(w)));
        LowerOptions options;
        options.arch = arch;
        options.extents = {512, n, k};
        const auto lowered = lower(f.kernel, options);
        EXPECT_TRUE(lowered && inconsistency(lowered->record).empty());
        const auto pipeline = stages(f.kernel, options);
        return pipeline->stages.front().kernel.outputs.front().ragged;
    };
    EXPECT_TRUE(is_ragged(777, 64, "sm90a"));
    EXPECT_FALSE(is_ragged(776, 64, "sm90a"));
    EXPECT_FALSE(is_ragged(777, 63, "sm90a")) << "the operands need another skeleton";
    EXPECT_FALSE(is_ragged(777, 64, "sm80"));
}

TEST(Scattered, RaggedRowsKeepTheirResidual) {
    Fixture f("residual");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.k}),
                 w = f.param("w", DType::bf16, {f.n, f.k});
    const ExprId r = f.param("r", DType::bf16, {f.m, f.n});
    f.output("y", DType::bf16, f.b.binary(BinaryOp::add, f.b.product(x, f.b.transpose(w)), r));
    LowerOptions options;
    options.extents = {512, 777, 64};
    EXPECT_EQ(stages(f.kernel, options)->stages.size(), 1u);
    const auto lowered = lower(f.kernel, options);
    ASSERT_TRUE(lowered.ok());
    expect_golden("ragged.cu", lowered->source);
    expect_golden("ragged.json", to_json(lowered->record));
}

// Factors are known by their dimension: one that rows and columns share says nothing.
TEST(Scattered, SharedFactorsAreNotScattered) {
    Phases p("shared");
    const DimId rows = p.kernel.factored_dim({p.f, p.a}),
                columns = p.kernel.factored_dim({p.i, p.a});
    const ExprId w = p.param("w", DType::bf16, {rows, p.k});
    const ExprId x = p.param("x", DType::bf16, {columns, p.k});
    const ExprId acc = p.b.product(w, p.b.transpose(x));
    p.output("y", DType::bf16, p.b.view(acc, {p.f, p.kernel.factored_dim({p.a, p.i}), p.a}));
    ASSERT_EQ(ir::verify(p.kernel), "");
    EXPECT_FALSE(scattered_output(p.kernel));
}

TEST(Scattered, OtherViewsStayWhereTheyAre) {
    Phases p("merged");
    const ExprId w = p.param("w", DType::bf16, {p.rows, p.k});
    const ExprId x = p.param("x", DType::bf16, {p.batch, p.k, p.columns});
    const ExprId apart = p.b.view(p.b.product(w, x), {p.batch, p.f, p.a, p.a2, p.i, p.i2});
    p.output("y", DType::bf16,
             p.b.permute(p.plus_bias(apart), {p.batch, p.i, p.i2, p.f, p.a, p.a2}));
    EXPECT_EQ(pointwise_first(p.kernel).exprs.size(), p.kernel.exprs.size());
}

}  // namespace
}  // namespace fact::lower
