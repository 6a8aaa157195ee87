// How kernels are cut into stages; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/pipeline/cut.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../golden.h"
#include "built_kernel.h"
#include "ir/dump.h"
#include "ir/expand.h"
#include "lower/pipeline/lower.h"
#include "lower/pipeline/uses.h"
#include "lower/product/product_form.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

std::string described(const Pipeline& pipeline) {
    constexpr const char* kKinds[] = {"product", "rows", "attention"};
    std::string text;
    for (const std::string& why : pipeline.cuts) text += why + "\n";
    for (const Stage& stage : pipeline.stages) {
        text += fmt::format("\n{} stage {} reads", kKinds[static_cast<int>(stage.kind)],
                            stage.kernel.name);
        for (const int tensor : stage.params) text += fmt::format(" {}", tensor);
        text +=
            fmt::format(", writes {}\n{}", fmt::join(stage.outputs, " "), ir::dump(stage.kernel));
    }
    return text;
}

void expect_stages(const ir::Kernel& kernel, const std::string& golden) {
    ASSERT_EQ(ir::verify(kernel), "");
    const auto pipeline = cut(kernel, {});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    for (const Stage& stage : pipeline->stages) EXPECT_EQ(ir::verify(stage.kernel), "");
    expect_golden(golden, described(*pipeline));
    const auto lowered = lower(kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto again = launch_record_from_json(to_json(lowered->record));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(*again, lowered->record);
}

// A softmax and the largest share of each row: nothing of it is stored for a second kernel.
TEST(Cut, OneValuePerRowIsWrittenBesideTheRow) {
    Fixture f("shares");
    const ExprId y = f.softmax(f.param("x", DType::f32, {f.m, f.n}), f.n);
    f.output("y", DType::f32, y);
    f.output("top", DType::f32, f.b.reduce(ReduceOp::max, y, {f.n}));
    const auto pipeline = cut(f.kernel, {});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    ASSERT_EQ(pipeline->stages.size(), 1u) << described(*pipeline);
    EXPECT_EQ(pipeline->stages[0].outputs, (std::vector<int>{1, 2}));
}

// Outputs with the same rows are one kernel's: what they read is read once. Columns are others.
TEST(Cut, RowsOfSeveralOutputsAreWrittenTogether) {
    Fixture f("residual");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.n}),
                 r = f.param("r", DType::bf16, {f.m, f.n});
    const ExprId other = f.param("other", DType::bf16, {f.m, f.n});
    const ExprId sum = f.b.cast(DType::bf16, f.b.binary(BinaryOp::add, x, r));
    f.output("sum", DType::bf16, sum);
    f.output("columns", DType::f32, f.softmax(x, f.m));
    f.output("unrelated", DType::f32, f.b.unary(UnaryOp::exp, other));
    f.output("rows", DType::bf16, f.softmax(sum, f.n));
    const auto pipeline = cut(f.kernel, {});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    ASSERT_EQ(pipeline->stages.size(), 3U);
    EXPECT_EQ(pipeline->stages[0].outputs, std::vector{4});
    EXPECT_EQ(pipeline->stages[1].outputs, std::vector{5});
    EXPECT_EQ(pipeline->stages[2].outputs, (std::vector{3, 6}));
    for (const Stage& stage : pipeline->stages) EXPECT_EQ(ir::verify(stage.kernel), "");
}

// A length that is only assumed is no length to write a kernel for; a real one is asked of a call.
TEST(Cut, OnlyKnownLengthsAreFixed) {
    Fixture f("soft");
    f.output("y", DType::f32, f.softmax(f.param("x", DType::f32, {f.m, f.n}), f.n));
    LowerOptions options;
    options.extents = {64, 512, 1};
    const auto fixed = lower(f.kernel, options);
    ASSERT_TRUE(fixed.ok());
    EXPECT_NE(fixed->source.find("VectorRow<512, 4, 32, true>"), std::string::npos);
    ASSERT_EQ(fixed->record.extent_rules.size(), 1U);
    EXPECT_EQ(fixed->record.extent_rules[0], (ExtentRule{{{{0, 1}}}, {{}, 512}}));
    EXPECT_EQ(fixed->record.alignments, (std::vector<Alignment>{{0, 16}, {1, 16}}));
    options.assumed = {false, true, false};
    const auto any = lower(f.kernel, options);
    ASSERT_TRUE(any.ok());
    EXPECT_TRUE(any->record.extent_rules.empty());
    EXPECT_TRUE(any->record.alignments.empty());
}

TEST(Cut, AProductWithAnEpilogueStaysWhole) {
    Fixture f("linear");
    const ExprId w = f.param("w", DType::bf16, {f.n, f.k}), turned = f.b.transpose(w);
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), turned);
    f.output("y", DType::bf16, f.b.unary(UnaryOp::relu, acc));
    const auto pipeline = cut(f.kernel, {});
    ASSERT_TRUE(pipeline.ok());
    ASSERT_EQ(pipeline->stages.size(), 1u);
    EXPECT_EQ(pipeline->stages[0].kernel.name, "linear");
    EXPECT_TRUE(pipeline->intermediates.empty());
}

TEST(Cut, ASoftmaxAfterAProductIsASecondKernel) {
    Fixture f("linear_softmax");
    const ExprId w = f.param("w", DType::bf16, {f.n, f.k}), turned = f.b.transpose(w);
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), turned);
    f.output("y", DType::bf16, f.softmax(acc, f.n));
    expect_stages(f.kernel, "linear_softmax.txt");
}

TEST(Cut, AGateReadsItsFirstArm) {
    Fixture f("gate");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.k});
    const ExprId left = f.b.product(x, f.param("a", DType::bf16, {f.k, f.n}));
    const ExprId right = f.b.product(x, f.param("b", DType::bf16, {f.k, f.n}));
    f.output("y", DType::bf16, f.b.binary(BinaryOp::mul, f.b.unary(UnaryOp::silu, left), right));
    expect_stages(f.kernel, "gate.txt");
}

TEST(Cut, AttentionWrittenOutIsThreeKernels) {
    Fixture f("attend");
    const ir::DimId d = f.kernel.dim("D"), e = f.kernel.dim("E");
    ir::Attention node;
    node.q = f.param("q", DType::bf16, {f.m, d});
    node.k = f.param("k", DType::bf16, {f.n, d});
    node.v = f.param("v", DType::bf16, {f.n, e});
    node.causal = true;
    node.scale = 0.125;
    f.output("y", DType::bf16, f.b.attention(node));
    expect_stages(ir::expand_attention(f.kernel), "attend.txt");
}

struct LoggedAttention : Fixture {
    ExprId o{}, sums{};

    LoggedAttention() : Fixture("attend") {
        const ir::DimId d = kernel.dim("64"), e = kernel.dim("96"), h = kernel.dim("H");
        ir::Attention node;
        node.q = param("q", DType::bf16, {h, m, d});
        node.k = param("k", DType::bf16, {h, n, d});
        node.v = param("v", DType::bf16, {h, n, e});
        o = b.attention(node);
        sums = b.log_sum_exp(o);
    }
    // Kinds of stages and what they write.
    std::string stages(std::vector<int> alignment = {}) const {
        LowerOptions options;
        options.alignment = std::move(alignment);
        const auto pipeline = lower::stages(kernel, options);
        if (!pipeline) return pipeline.error().text();
        std::string text;
        for (const Stage& stage : pipeline->stages) {
            EXPECT_EQ(ir::verify(stage.kernel), "");
            const bool attends = stage.kind == StageKind::attention;
            text += fmt::format("{} {}; ", attends ? "attention" : "rows",
                                fmt::join(stage.outputs, " "));
        }
        const auto lowered = lower(kernel, options);
        EXPECT_EQ(lowered ? "" : lowered.error().text(), "");
        EXPECT_EQ(lowered ? inconsistency(lowered->record) : "", "");
        return text;
    }
};

TEST(Cut, AttentionWritesTheLogarithmsOfItsSumsBeside) {
    {
        LoggedAttention f;
        f.output("y", DType::bf16, f.o);
        f.output("l", DType::f32, f.sums);
        EXPECT_EQ(f.stages(), "attention 3 4; ");
        EXPECT_EQ(f.stages({16, 16, 16, 16, 4}), "attention 3 4; ");
    }
    {  // reordered both, the logarithms first
        LoggedAttention f;
        const auto& dims = f.kernel[f.o].type.dims;
        f.output("l", DType::f32, f.b.permute(f.sums, {dims[1], dims[0]}));
        f.output("y", DType::bf16, f.b.permute(f.o, {dims[1], dims[0], dims[2]}));
        EXPECT_EQ(f.stages(), "attention 4 3; ");
    }
    {  // rounded, or read by others: kept as they are computed
        LoggedAttention f;
        f.output("y", DType::bf16, f.o);
        f.output("l", DType::bf16, f.sums);
        EXPECT_EQ(f.stages(), "attention 3 5; rows 4; ");
    }
    {
        LoggedAttention f;
        const ExprId rounded = f.b.cast(DType::bf16, f.o);
        f.output("y", DType::f32,
                 f.b.binary(BinaryOp::mul, rounded, f.b.unary(UnaryOp::exp, f.sums)));
        f.output("l", DType::f32, f.sums);
        EXPECT_EQ(f.stages(), "attention 6 5; rows 4; rows 3; ");
    }
}

// Without a weighted sum they are no attention's output.
TEST(Cut, LogarithmsAloneAreWrittenOut) {
    LoggedAttention f;
    f.output("l", DType::f32, f.sums);
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
}

// The heads of a projection, each turned by its halves: at most a product and what turns them.
TEST(Cut, HeadsAreTurnedBehindTheirProduct) {
    Fixture f("heads");
    const ir::DimId h = f.kernel.dim("H"), two = f.kernel.dim("2"), half = f.kernel.dim("64");
    const ir::DimId columns = f.kernel.factored_dim({h, two, half});
    const ExprId w = f.param("w", DType::bf16, {columns, f.k}), turned = f.b.transpose(w);
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), turned);
    const ExprId heads = f.b.view(acc, {f.m, h, two, half});
    const ExprId sine = f.param("sine", DType::bf16, {f.m, half});
    const ExprId other = f.b.binary(BinaryOp::mul, f.b.flip(heads, two), sine);
    const ExprId y = f.b.binary(BinaryOp::add, heads, other);
    f.output("y", DType::bf16, f.b.view(y, {f.m, columns}));
    const auto pipeline = cut(f.kernel, {.two_sums = true});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    EXPECT_LE(pipeline->stages.size(), 2u);
    EXPECT_EQ(pipeline->stages.front().kind, StageKind::product);
    for (const Stage& stage : pipeline->stages) EXPECT_EQ(ir::verify(stage.kernel), "");
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
}

// A bias between the product and the flip is flipped along: one kernel, where two sums are at hand.
TEST(Cut, ABiasBeforeAFlipIsPartOfTheEpilogue) {
    Fixture f("biased");
    const ir::DimId h = f.kernel.dim("H"), two = f.kernel.dim("2"), half = f.kernel.dim("64");
    const ir::DimId columns = f.kernel.factored_dim({h, two, half});
    const ExprId w = f.param("w", DType::bf16, {columns, f.k}), turned = f.b.transpose(w);
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), turned);
    const ExprId sum = f.b.binary(BinaryOp::add, acc, f.param("bias", DType::bf16, {columns}));
    const ExprId heads = f.b.view(sum, {f.m, h, two, half});
    const ExprId y = f.b.binary(BinaryOp::sub, heads, f.b.flip(heads, two));
    f.output("y", DType::bf16, f.b.view(y, {f.m, columns}));
    const auto pipeline = cut(f.kernel, {.two_sums = true});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    ASSERT_EQ(pipeline->stages.size(), 1u);
    EXPECT_EQ(ir::verify(pipeline->stages.front().kernel), "");
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    const auto apart = cut(f.kernel, {});
    ASSERT_TRUE(apart.ok()) << apart.error().text();
    EXPECT_EQ(apart->stages.size(), 2u);
}

// A norm folded into a product: what is left of its reductions is computed before, in one kernel,
// and read by the product's epilogue.
TEST(Cut, ReductionsBesideAProductComeBeforeIt) {
    Fixture f("normalised");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.k});
    const ExprId w = f.param("w", DType::bf16, {f.n, f.k});
    const ExprId acc = f.b.product(x, f.b.transpose(w));
    const ExprId center = f.b.reduce(ReduceOp::sum, x, {f.k});
    const ExprId squares = f.b.reduce(ReduceOp::sum, f.b.binary(BinaryOp::mul, x, x), {f.k});
    const ExprId apart =
        f.b.binary(BinaryOp::sub, squares, f.b.binary(BinaryOp::mul, center, center));
    const ExprId inverse = f.b.unary(UnaryOp::rsqrt, apart);
    const ExprId columns = f.b.reduce(ReduceOp::sum, w, {f.k});
    const ExprId means = f.b.binary(BinaryOp::mul, f.b.expand(center, {f.m, f.n}), columns);
    f.output("y", DType::bf16,
             f.b.binary(BinaryOp::mul, f.b.binary(BinaryOp::sub, acc, means), inverse));
    expect_stages(f.kernel, "normalised.txt");
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
}

// What an output is computed from between two reductions has to be there before it.
TEST(Cut, AReductionThatAnOutputReadsWaitsForNoOther) {
    Fixture f("waited");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.k});
    const ExprId w = f.param("w", DType::bf16, {f.k, f.n});
    const ExprId acc = f.b.product(x, w);
    const ExprId first = f.b.reduce(ReduceOp::sum, x, {f.k});
    f.output("a", DType::bf16, f.b.binary(BinaryOp::mul, acc, first));
    const ExprId second = f.b.reduce(ReduceOp::max, x, {f.k});
    f.output("b", DType::bf16, f.b.binary(BinaryOp::mul, acc, second));
    const auto pipeline = cut(f.kernel, {});
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    std::set<int> there;
    for (std::size_t i = 0; i < f.kernel.params.size(); ++i) there.insert(static_cast<int>(i));
    for (const Stage& stage : pipeline->stages) {
        for (const int tensor : stage.params)
            EXPECT_TRUE(there.contains(tensor)) << stage.kernel.name << " reads " << tensor;
        there.insert(stage.outputs.begin(), stage.outputs.end());
    }
}

TEST(Cut, AnOutputThatOthersReadIsWrittenOnItsOwn) {
    Fixture f("both");
    const ExprId w = f.param("w", DType::bf16, {f.k, f.n});
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), w);
    f.output("sums", DType::bf16, acc);
    f.output("largest", DType::f32, f.b.reduce(ReduceOp::max, acc, {f.n}));
    expect_stages(f.kernel, "both.txt");
}

// 2^64 ways lead through the bias to its parameter: it is read once.
TEST(Cut, ASharedBiasIsWalkedOnce) {
    Fixture f("shared_bias");
    const auto d = f.kernel.dim("64");
    const auto q = f.param("q", DType::bf16, {f.m, d}), k = f.param("k", DType::bf16, {f.n, d}),
               v = f.param("v", DType::bf16, {f.n, d}), b = f.param("b", DType::f32, {f.m, f.n});
    auto bias = b;
    for (int i = 0; i < 64; ++i) bias = f.b.binary(BinaryOp::add, bias, bias);
    ir::Attention node;
    node.q = q, node.k = k, node.v = v, node.bias = bias;
    EXPECT_EQ(attention_reads(f.kernel, node), (std::vector{q, k, v, b}));
}

// More statements than a stack has room for calls.
TEST(Cut, ALongEpilogueIsWalkedOnce) {
    Fixture f("long_epilogue");
    const auto x = f.param("x", DType::bf16, {f.m, f.k}), w = f.param("w", DType::bf16, {f.n, f.k});
    auto y = f.b.product(x, f.b.transpose(w));
    for (int i = 0; i < 100'000; ++i) y = f.b.unary(UnaryOp::neg, y);
    f.output("y", DType::bf16, y);
    const auto form = product_form(f.kernel);
    ASSERT_TRUE(form.ok()) << form.error().text();
    EXPECT_EQ(form->epilogue.size(), 100'000u);
}

}  // namespace
}  // namespace fact::lower
