// Long reductions in two steps: the same numbers, and few passes over the row.
#include "lower/pipeline/long_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "built_kernel.h"
#include "ir/extents.h"
#include "ir/interpreter.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Row = std::vector<double>;

// The kernel's one output over rows x columns, or over its rows, for one parameter.
Row run(const ir::Kernel& kernel, Row& x, std::int64_t rows, std::int64_t columns) {
    const bool whole = kernel.outputs.front().tensor.type.dims.size() == 2;
    const bool scalar = kernel.outputs.front().tensor.type.dims.empty();
    Row y(static_cast<std::size_t>(scalar ? 1 : whole ? rows * columns : columns));
    const ir::TensorView in{x.data(), DType::f64, {rows, columns}, {columns, 1}};
    ir::TensorView out{y.data(), DType::f64, {}, {}};
    if (whole) out = {y.data(), DType::f64, {rows, columns}, {columns, 1}};
    if (!whole && !scalar) out = {y.data(), DType::f64, {columns}, {1}};
    const auto done = ir::interpret(kernel, std::vector{in}, std::vector{out});
    EXPECT_TRUE(done.ok()) << done.error().text();
    return y;
}

Row random_row(std::int64_t length) {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal(3, 2);
    Row row(static_cast<std::size_t>(length));
    for (double& x : row) x = normal(generator);
    return row;
}

// Splits the kernel and compares both. Returns the number of stages of the split one.
std::size_t expect_same(const Fixture& f, Row x, std::int64_t rows, std::int64_t columns) {
    const std::vector<std::int64_t> extents{rows, columns, ir::kUnknownExtent};
    const ir::Kernel split = split_long_rows(f.kernel, extents);
    EXPECT_EQ(ir::verify(split), "");
    const Row expected = run(f.kernel, x, rows, columns), actual = run(split, x, rows, columns);
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (std::isnan(expected[i]))
            EXPECT_TRUE(std::isnan(actual[i])) << i;
        else
            EXPECT_NEAR(expected[i], actual[i], 1e-9 * (1 + std::abs(expected[i]))) << i;
    LowerOptions options;
    options.extents = extents;
    const auto pipeline = stages(f.kernel, options);
    EXPECT_TRUE(pipeline.ok()) << pipeline.error().text();
    EXPECT_TRUE(lower(f.kernel, options).ok());
    return pipeline->stages.size();
}

TEST(LongRows, OfASoftmaxAreReadTwice) {
    Fixture f("softmax");
    f.output("y", DType::f32, f.softmax(f.param("x", DType::f32, {f.m, f.n}), f.n));
    constexpr std::int64_t kColumns = 40960;
    Row x = random_row(2 * kColumns);
    EXPECT_EQ(expect_same(f, x, 2, kColumns), 3u);  // parts; maximum and sum; result
    for (std::int64_t i = 0; i < kColumns / 2; ++i) x[static_cast<std::size_t>(i)] = -kInfinity;
    expect_same(f, x, 2, kColumns);
    for (std::int64_t i = 0; i < kColumns; ++i) x[static_cast<std::size_t>(i)] = -kInfinity;
    expect_same(f, x, 2, kColumns);  // one row is NaN
}

TEST(LongRows, OfANormKeepItsVariance) {
    Fixture f("norm");
    const ExprId x = f.param("x", DType::f32, {f.m, f.n});
    const ExprId mean =
        f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, x, {f.n}), f.b.extent(f.n));
    const ExprId centered = f.b.binary(BinaryOp::sub, x, mean);
    const ExprId squares =
        f.b.reduce(ReduceOp::sum, f.b.binary(BinaryOp::mul, centered, centered), {f.n});
    const ExprId scale = f.b.unary(UnaryOp::rsqrt, squares);
    f.output("y", DType::f32, f.b.binary(BinaryOp::mul, centered, scale));
    EXPECT_EQ(expect_same(f, random_row(2 * 40960), 2, 40960), 3u);
}

// A batch norm in training mode: running statistics are one value a row, like the batch's.
TEST(LongRows, RunningStatisticsAreWrittenBesideTheBatchs) {
    Fixture f("norm");
    const ExprId x = f.param("x", DType::f32, {f.m, f.n});
    const auto mean = [&](ExprId of) {
        return f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, of, {f.n}), f.b.extent(f.n));
    };
    const ExprId average = mean(x), centered = f.b.binary(BinaryOp::sub, x, average);
    const ExprId variance = mean(f.b.binary(BinaryOp::mul, centered, centered));
    f.output("y", DType::f32,
             f.b.binary(BinaryOp::mul, centered, f.b.unary(UnaryOp::rsqrt, variance)));
    for (const auto& [name, batch] : {std::pair{"mean", average}, std::pair{"var", variance}})
        f.output(std::string("running_") + name, DType::f32,
                 f.b.binary(BinaryOp::add, f.param(name, DType::f32, {f.m}), batch));
    LowerOptions options;
    options.extents = {64, 40960, ir::kUnknownExtent};
    const auto whole = stages(f.kernel, options);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->stages.size(), 1u);  // a cluster holds the row
    options.extents[1] = 409600;
    const auto pipeline = stages(f.kernel, options);
    ASSERT_TRUE(pipeline && lower(f.kernel, options));
    ASSERT_EQ(pipeline->stages.size(), 3u);
    const std::vector<int>& written = pipeline->stages[1].outputs;
    ASSERT_EQ(written.size(), 4u);
    const int first_output = static_cast<int>(f.kernel.params.size());
    EXPECT_EQ(written[2], first_output + 1);
    EXPECT_EQ(written[3], first_output + 2);
}

// A group norm of images that are channels last: neighbours in a group are few, pixels many.
TEST(LongRows, OfGroupsAreColumnsFirst) {
    Fixture f("groups");
    const DimId g = f.kernel.dim("G"), c = f.kernel.dim("C");
    f.kernel.dims[ir::index(c)].extent = 4;
    const DimId channels = f.kernel.factored_dim({g, c});
    const ExprId x = f.b.view(f.param("x", DType::f32, {f.m, channels}), {f.m, g, c});
    const auto mean = [&](ExprId of) {
        const ExprId count = f.b.extent(f.kernel.factored_dim({f.m, c}));
        return f.b.binary(BinaryOp::div, f.b.reduce(ReduceOp::sum, of, {f.m, c}), count);
    };
    const ExprId centered = f.b.binary(BinaryOp::sub, x, mean(x));
    const ExprId variance = mean(f.b.binary(BinaryOp::mul, centered, centered));
    const ExprId scale = f.b.unary(UnaryOp::rsqrt, variance);
    const ExprId y = f.b.binary(BinaryOp::mul, centered, scale);
    f.output("y", DType::f32, f.b.view(y, {f.m, channels}));
    constexpr std::int64_t kPixels = 1 << 15, kGroups = 8;
    const std::vector<std::int64_t> extents{kPixels, ir::kUnknownExtent, ir::kUnknownExtent,
                                            kGroups};
    const ir::Kernel split = split_long_rows(f.kernel, extents);
    EXPECT_EQ(ir::verify(split), "");
    Row in = random_row(kPixels * kGroups * 4);
    const Row expected = run(f.kernel, in, kPixels, kGroups * 4),
              actual = run(split, in, kPixels, kGroups * 4);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(expected[i], actual[i], 1e-9);
    LowerOptions options;
    options.extents = extents;
    const auto pipeline = stages(f.kernel, options);
    ASSERT_TRUE(pipeline && lower(f.kernel, options));
    EXPECT_EQ(pipeline->stages.size(), 3u);  // columns of parts; sum and deviation; result
    // Few elements stay with one thread block a group.
    EXPECT_EQ(
        split_long_rows(f.kernel, {1000, ir::kUnknownExtent, ir::kUnknownExtent, 8}).exprs.size(),
        f.kernel.exprs.size());
}

// A product's dimensions stay whole: its result is read part by part as it lies in memory.
TEST(LongRows, AfterAProductPartsAreWholeDimensions) {
    Fixture f("pixels");
    const ir::DimId h = f.kernel.dim("H"), w = f.kernel.dim("W");
    const ir::DimId pixels = f.kernel.factored_dim({h, w});
    const ExprId acc = f.b.product(f.param("w", DType::bf16, {f.m, f.k}),
                                   f.param("x", DType::bf16, {f.k, pixels}));
    const ExprId y = f.b.view(acc, {f.m, h, w});
    const auto mean = [&](ExprId x) {
        const ExprId sum = f.b.reduce(ReduceOp::sum, x, {h, w});
        return f.b.binary(BinaryOp::div, sum, f.b.extent(pixels));
    };
    // The view is written twice.
    const ExprId centered = f.b.binary(BinaryOp::sub, f.b.view(acc, {f.m, h, w}), mean(y));
    const ExprId squares = mean(f.b.binary(BinaryOp::mul, centered, centered));
    f.output("y", DType::f32,
             f.b.binary(BinaryOp::mul, centered, f.b.unary(UnaryOp::rsqrt, squares)));
    f.param("told", DType::f32, {h, w});
    LowerOptions options;
    options.extents.assign(f.kernel.dims.size(), ir::kUnknownExtent);
    for (const auto& [dim, extent] :
         {std::pair{f.m, 16}, std::pair{f.k, 64}, std::pair{h, 4096}, std::pair{w, 128}})
        options.extents[ir::index(dim)] = extent;
    const auto pipeline = stages(f.kernel, options);
    ASSERT_TRUE(pipeline.ok()) << pipeline.error().text();
    ASSERT_EQ(pipeline->stages.size(), 4u);  // product; parts; mean and variance; result
    EXPECT_EQ(pipeline->stages[1].kernel.outputs.size(), 2u);
    EXPECT_EQ(pipeline->stages[1].kernel.outputs[0].tensor.type.dims.size(), 2u);
    EXPECT_TRUE(lower(f.kernel, options).ok());
}

// Windows along them keep both dimensions whole: few blocks would read the images one by one.
TEST(LongRows, OfImagesWithWindowsArePartsOfAnyLength) {
    const auto stages_of = [](std::int64_t channels, std::int64_t length) {
        Fixture f("signals");
        f.kernel.dims.push_back({"R", 3});
        const ir::DimId r = f.kernel.dim("R");
        f.kernel.dims.push_back({"P", {}, {}, ir::WindowRule{f.n, r, 1, 1, 0, 0}});
        const ExprId x = f.param("x", DType::f32, {f.m, f.k, f.n});
        const ExprId largest = f.b.reduce(ReduceOp::max, f.b.unary(UnaryOp::abs, x), {f.k, f.n});
        const ExprId windows = f.b.window(x, {f.kernel.dim("P")});
        const ExprId sums = f.b.reduce(ReduceOp::sum, windows, {r});
        f.output("y", DType::f32, f.b.binary(BinaryOp::div, sums, largest));
        LowerOptions options;
        options.extents.assign(f.kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] :
             {std::pair{f.m, std::int64_t{4}}, {f.k, channels}, {f.n, length}})
            options.extents[ir::index(dim)] = extent;
        const auto pipeline = stages(f.kernel, options);
        EXPECT_TRUE(pipeline.ok()) << pipeline.error().text();
        return pipeline->stages.size();
    };
    EXPECT_EQ(stages_of(64, 131072), 3u);  // parts; images; result
    EXPECT_EQ(stages_of(1, 131072), 2u);   // nothing that could number parts
}

TEST(LongRows, OfAVeryLongSumAreSplitAgain) {
    Fixture f("total");
    const ExprId x = f.param("x", DType::f32, {f.m, f.n});
    f.output("y", DType::f32, f.b.reduce(ReduceOp::sum, x, {f.m, f.n}));
    EXPECT_EQ(expect_same(f, random_row(1024 * 4096), 1024, 4096), 2u);
    const ir::Kernel split = split_long_rows(f.kernel, {1 << 15, 1 << 15, ir::kUnknownExtent});
    EXPECT_EQ(std::ranges::count_if(split.exprs,
                                    [](const ir::Expr& expr) {
                                        return std::holds_alternative<ir::Reduce>(expr.node);
                                    }),
              3);
}

TEST(LongRows, FewColumnsAreSplitToo) {
    Fixture f("columns");
    const ExprId x = f.param("x", DType::f32, {f.m, f.n});
    f.output("y", DType::f32, f.b.reduce(ReduceOp::max, x, {f.m}));
    EXPECT_EQ(expect_same(f, random_row(16384 * 64), 16384, 64), 2u);
}

// A length without divisors, one that is not known, and rows that fit registers.
TEST(LongRows, WhatIsNotSplitStaysAsItIs) {
    Fixture f("plain");
    f.output("y", DType::f32, f.softmax(f.param("x", DType::f32, {f.m, f.n}), f.n));
    const auto size = f.kernel.exprs.size();
    for (const std::int64_t columns : {std::int64_t{40961}, ir::kUnknownExtent, std::int64_t{4096}})
        EXPECT_EQ(split_long_rows(f.kernel, {512, columns, ir::kUnknownExtent}).exprs.size(), size)
            << columns;
}

}  // namespace
}  // namespace fact::lower
