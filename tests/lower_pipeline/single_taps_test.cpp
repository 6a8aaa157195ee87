// Convolutions with one tap along a dimension: their windows are read as they are.
#include "lower/pipeline/single_taps.h"

#include <gtest/gtest.h>

#include <random>

#include "built_kernel.h"
#include "ir/interpreter.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {
namespace {

using ir::DimId;
using ir::ExprId;

// y[B, F, P, Q] of windows of 3 x 1 with a step of 2 along W, as texts say it: the weights have no
// dimension for the single tap.
struct Tall : Fixture {
    DimId batch = kernel.dim("B"), f = kernel.dim("F"), c = kernel.dim("C"), h = kernel.dim("H"),
          w = kernel.dim("W");

    explicit Tall(bool channels_last) : Fixture("tall") {
        kernel.dims.push_back({"R", 3});
        kernel.dims.push_back({"S", 1});
        const DimId r = kernel.dim("R"), s = kernel.dim("S");
        kernel.dims.push_back({"P", {}, {}, ir::WindowRule{h, r, 1, 1, 1, 1}});
        kernel.dims.push_back({"Q", {}, {}, ir::WindowRule{w, s, 2, 1, 0, 0}});
        const DimId p = kernel.dim("P"), q = kernel.dim("Q");
        const ExprId x = param("x", DType::f32, {batch, c, h, w});
        const ExprId weights = param("w", DType::f32, {f, c, r});
        const ExprId windows = b.reduce(ir::ReduceOp::max, b.window(x, {p, q}), {s});
        const DimId k = kernel.factored_dim({r, c});
        const ExprId rows = b.view(b.permute(weights, {f, r, c}), {f, k});
        ExprId acc{};
        if (channels_last) {
            const DimId pixels = kernel.factored_dim({batch, p, q});
            const ExprId seen = b.view(b.permute(windows, {batch, p, q, r, c}), {pixels, k});
            acc = b.view(b.product(seen, b.transpose(rows), ir::Precision::tf32), {batch, p, q, f});
        } else {
            const DimId places = kernel.factored_dim({p, q});
            const ExprId seen = b.view(b.permute(windows, {batch, r, c, p, q}), {batch, k, places});
            acc = b.view(b.product(rows, seen, ir::Precision::tf32), {batch, f, p, q});
        }
        output("y", DType::f32, b.permute(acc, {batch, f, p, q}));
        EXPECT_EQ(ir::verify(kernel), "");
    }
};

TEST(SingleTaps, NoWindowsAreCopied) {
    const Tall tall(false);
    LowerOptions options;
    options.extents.assign(tall.kernel.dims.size(), ir::kUnknownExtent);
    for (const auto& [dim, extent] : {std::pair{tall.batch, std::int64_t{8}},
                                      {tall.f, 64},
                                      {tall.c, 64},
                                      {tall.h, 20},
                                      {tall.w, 20}})
        options.extents[ir::index(dim)] = extent;
    const Pipeline pipeline = *stages(tall.kernel, options);
    for (const ir::Tensor& tensor : pipeline.intermediates)
        EXPECT_LE(tensor.type.dims.size(), 4u) << tensor.name;
    EXPECT_EQ(pipeline.stages.size(), 3u);  // images, weights, product
}

TEST(SingleTaps, TheSumsAreTheSame) {
    constexpr std::int64_t kImages = 2, kFeatures = 3, kChannels = 4, kHeight = 5, kWidth = 7;
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    const auto random = [&](std::int64_t count) {
        std::vector<double> numbers(static_cast<std::size_t>(count));
        for (double& number : numbers) number = normal(generator);
        return numbers;
    };
    auto x = random(kImages * kChannels * kHeight * kWidth), w = random(kFeatures * kChannels * 3);
    const auto run = [&](const ir::Kernel& kernel) {
        std::vector<double> y(kImages * kFeatures * kHeight * 4);
        const auto done = ir::interpret(
            kernel,
            std::vector<ir::TensorView>{
                {x.data(), DType::f64, {kImages, kChannels, kHeight, kWidth}, {140, 35, 7, 1}},
                {w.data(), DType::f64, {kFeatures, kChannels, 3}, {12, 3, 1}}},
            std::vector<ir::TensorView>{
                {y.data(), DType::f64, {kImages, kFeatures, kHeight, 4}, {60, 20, 4, 1}}});
        EXPECT_TRUE(done.ok()) << done.error().text();
        return y;
    };
    for (const bool channels_last : {false, true}) {
        const Tall tall(channels_last);
        const ir::Kernel simpler = with_single_taps(tall.kernel);
        EXPECT_EQ(ir::verify(simpler), "");
        EXPECT_EQ(std::ranges::count_if(simpler.exprs,
                                        [](const ir::Expr& expr) {
                                            return std::holds_alternative<ir::Reduce>(expr.node);
                                        }),
                  0);
        EXPECT_EQ(run(tall.kernel), run(simpler)) << channels_last;
    }
}

}  // namespace
}  // namespace fact::lower
