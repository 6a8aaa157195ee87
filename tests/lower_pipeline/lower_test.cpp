// What a linked pipeline says of its launches; FACT_UPDATE_GOLDEN=1 accepts new text.
#include "lower/pipeline/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../golden.h"
#include "built_kernel.h"

namespace fact::lower {
namespace {

using ir::ExprId;
using ir::UnaryOp;

TEST(Lower, EveryPassCanBeSeen) {
    Fixture f("scaled");
    const ExprId x = f.param("x", DType::f32, {f.m, f.n});
    f.output("y", DType::f32, f.b.unary(UnaryOp::relu, x));
    std::string seen;
    LowerOptions options;
    options.after = [&](std::string_view pass, const std::string& dump) {
        seen += fmt::format("{}: {}\n", pass, dump.substr(0, dump.find('\n')));
    };
    ASSERT_TRUE(lower(f.kernel, options).ok());
    EXPECT_EQ(seen, "checked: kernel scaled\nexpanded: kernel scaled\ncut: kernel scaled\n");
}

TEST(Lower, SeveralStagesAreOneFile) {
    Fixture f("linear_softmax");
    const ExprId w = f.param("w", DType::bf16, {f.n, f.k}), turned = f.b.transpose(w);
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), turned);
    f.output("y", DType::bf16, f.softmax(acc, f.n));
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    expect_golden("linear_softmax.cu", lowered->source);
    expect_golden("linear_softmax.json", to_json(lowered->record));
}

std::vector<std::vector<int>> prepared(const LaunchRecord& record) {
    std::vector<std::vector<int>> all;
    for (const Launch& launch : record.launches) all.push_back(launch.prepares_from);
    return all;
}

// y = x @ (w * g).T + (sum of w * b along K), with x, g, w and b as parameters 0 to 3.
LaunchRecord folded(DType dtype) {
    Fixture f("folded");
    const ExprId x = f.param("x", dtype, {f.m, f.k}), g = f.param("g", dtype, {f.k});
    const ExprId w = f.param("w", dtype, {f.n, f.k}), b = f.param("b", dtype, {f.k});
    const ExprId scaled = f.b.cast(dtype, f.b.binary(BinaryOp::mul, w, g));
    const ExprId shift = f.b.reduce(ReduceOp::sum, f.b.binary(BinaryOp::mul, w, b), {f.k});
    const ExprId acc = f.b.product(x, f.b.transpose(scaled));
    f.output("y", dtype, f.b.binary(BinaryOp::add, acc, shift));
    const auto lowered = lower(f.kernel, {});
    EXPECT_TRUE(lowered.ok()) << lowered.error().text();
    return lowered.ok() ? lowered->record : LaunchRecord{};
}

TEST(Lower, WhatIsKeptSaysWhichParametersItFollowsFrom) {
    EXPECT_EQ(prepared(folded(DType::bf16)), (std::vector<std::vector<int>>{{1, 2}, {2, 3}, {}}));
    // The passes over the product's operand follow from what that follows from.
    EXPECT_EQ(prepared(folded(DType::f32)),
              (std::vector<std::vector<int>>{{1, 2}, {2, 3}, {1, 2}, {1, 2}, {}}));
}

TEST(Lower, OutputsAreWrittenInEveryCall) {
    Fixture f("both");
    const ExprId x = f.param("x", DType::bf16, {f.m, f.k});
    const ExprId w = f.param("w", DType::bf16, {f.n, f.k});
    const ExprId scaled = f.b.cast(DType::bf16, f.b.unary(UnaryOp::exp, w));
    f.output("scaled", DType::bf16, scaled);
    f.output("y", DType::bf16, f.b.product(x, f.b.transpose(scaled)));
    const auto lowered = lower(f.kernel, {});
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(prepared(lowered->record), (std::vector<std::vector<int>>{{1}, {}, {}}));
}

TEST(Lower, RowsThatNoTensorMapTakesGoThroughSm80) {
    Fixture f("odd");
    const ExprId w = f.param("w", DType::bf16, {f.k, f.n});
    const ExprId acc = f.b.product(f.param("x", DType::bf16, {f.m, f.k}), w);
    f.output("y", DType::bf16, acc);
    LowerOptions options;
    options.extents = {100, 1001, 64};
    const auto lowered = lower(f.kernel, options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_NE(lowered->source.find("sm80/"), std::string::npos);
    options.extents = {100, 1000, 64};
    EXPECT_NE(lower(f.kernel, options)->source.find("sm90/"), std::string::npos);
}

TEST(Lower, AnArchitectureWithoutKernelsIsRefused) {
    Fixture f("product");
    const ExprId w = f.param("w", DType::bf16, {f.k, f.n});
    f.output("y", DType::bf16, f.b.product(f.param("x", DType::bf16, {f.m, f.k}), w));
    LowerOptions options;
    options.arch = "sm100a";
    EXPECT_EQ(lower(f.kernel, options).error().message,
              "there are no kernels for the architecture sm100a");
    EXPECT_FALSE(plan_products(f.kernel, options).ok());
}

TEST(Lower, AnF32SumOfOddLengthGoesThroughSm80) {
    // Its second operand is laid out anew along K, in rows no tensor map takes.
    Fixture f("odd_depth");
    const ExprId x = f.param("x", DType::f32, {f.k, f.m}), w = f.param("w", DType::f32, {f.k, f.n});
    f.output("y", DType::f32, f.b.product(f.b.transpose(x), w));
    LowerOptions options;
    options.extents = {128, 128, 31};
    EXPECT_NE(lower(f.kernel, options)->source.find("sm80/"), std::string::npos);
    options.extents = {128, 128, 32};
    EXPECT_NE(lower(f.kernel, options)->source.find("sm90/"), std::string::npos);
}

}  // namespace
}  // namespace fact::lower
