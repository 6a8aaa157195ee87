// Convolutions of few terms are sums, without a product.
#include "lower/pipeline/few_terms.h"

#include <gtest/gtest.h>

#include <random>

#include "../golden.h"
#include "convolution.h"
#include "ir/extents.h"
#include "ir/interpreter.h"

namespace fact::lower {
namespace {

struct Colours : Convolution {
    explicit Colours(std::int64_t channels, std::int64_t features)
        : Convolution("colours", channels) {
        if (features > 0) kernel.dims[ir::index(f)].extent = features;
    }
    bool has_product() {
        output("y", DType::f32, result());
        const Pipeline pipeline = *stages(kernel, {});
        return std::ranges::any_of(
            pipeline.stages, [](const Stage& stage) { return stage.kind == StageKind::product; });
    }
};

TEST(FewTerms, AreAddedUpWithoutAProduct) {
    EXPECT_FALSE(Colours(3, 16).has_product());
    EXPECT_FALSE(Colours(1, 64).has_product());
    EXPECT_FALSE(Colours(8, 64).has_product());
    EXPECT_TRUE(Colours(9, 16).has_product());
    EXPECT_TRUE(Colours(3, 128).has_product());
    EXPECT_TRUE(Colours(3, 18).has_product());  // no whole vectors of weights
    EXPECT_TRUE(Colours(3, 0).has_product());   // as many as there may be
    Colours half(3, 16);
    half.dtype = DType::bf16;
    EXPECT_TRUE(half.has_product());
}

// In TF32 only where the GPU multiplies patches, which have to be known to fit.
TEST(FewTerms, InTf32AreProductsOfPatches) {
    const auto has_sums = [](std::int64_t channels, std::int64_t features, std::int64_t height,
                             bool patches = true, std::int64_t images = 16) {
        Colours conv(channels, features);
        conv.precision = ir::Precision::tf32;
        conv.output("y", DType::f32, conv.result());
        std::vector<std::int64_t> extents(conv.kernel.dims.size(), ir::kUnknownExtent);
        extents[ir::index(conv.h)] = extents[ir::index(conv.w)] = height;
        extents[ir::index(conv.batch)] = images;
        EXPECT_EQ(ir::solve_extents(conv.kernel, extents), "");
        const ir::Kernel sums = with_sums_of_few_terms(conv.kernel, extents, patches);
        const auto live = ir::reachable(sums);
        for (std::size_t i = 0; i < live.size(); ++i)
            if (live[i] && std::holds_alternative<ir::Product>(sums.exprs[i].node)) return false;
        return true;
    };
    EXPECT_TRUE(has_sums(16, 64, 128));
    EXPECT_TRUE(has_sums(32, 32, 62));
    EXPECT_FALSE(has_sums(64, 64, 128));
    EXPECT_FALSE(has_sums(16, 128, 128));
    EXPECT_FALSE(has_sums(16, 64, ir::kUnknownExtent));
    EXPECT_FALSE(has_sums(16, 64, 128, false));
    EXPECT_FALSE(has_sums(16, 64, 128, true, 2));  // too few places
}

// What no kernel of patches computes stays a product: places between others in the result, images
// with channels last, weights that are read again, several results.
TEST(FewTerms, InTf32StayProductsWherePatchesCannotBe) {
    const auto has_product = [](const auto& finish) {
        Colours conv(16, 64);
        conv.precision = ir::Precision::tf32;
        finish(conv);
        LowerOptions options;
        options.extents.assign(conv.kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] :
             {std::pair{conv.batch, std::int64_t{64}}, {conv.h, 126}, {conv.w, 130}})
            options.extents[ir::index(dim)] = extent;
        const Pipeline pipeline = *stages(conv.kernel, options);
        return std::ranges::any_of(
            pipeline.stages, [](const Stage& stage) { return stage.kind == StageKind::product; });
    };
    EXPECT_FALSE(has_product([](Colours& conv) { conv.output("y", DType::f32, conv.result()); }));
    EXPECT_TRUE(has_product([](Colours& conv) {
        const ir::ExprId y = conv.result();
        conv.output("y", DType::f32, conv.b.permute(y, {conv.batch, conv.p, conv.q, conv.f}));
    }));
    EXPECT_TRUE(has_product([](Colours& conv) {
        const ir::ExprId y = conv.result();
        conv.output("y", DType::f32, y);
        conv.output("z", DType::f32, conv.b.unary(ir::UnaryOp::exp, y));
    }));
}

void expect_golden_of_images(Colours& conv, const std::string& name, const char* arch) {
    conv.output("y", DType::f32, conv.result());
    LowerOptions options;
    options.arch = arch;
    options.extents.assign(conv.kernel.dims.size(), ir::kUnknownExtent);
    for (const auto& [dim, extent] :
         {std::pair{conv.batch, std::int64_t{64}}, {conv.h, 126}, {conv.w, 130}})
        options.extents[ir::index(dim)] = extent;
    const auto lowered = lower(conv.kernel, options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(inconsistency(lowered->record), "");
    expect_golden(name + ".cu", lowered->source);
    expect_golden(name + ".json", to_json(lowered->record));
}

TEST(FewTerms, AThreadComputesSeveralFeatures) {
    Colours conv(3, 32);
    expect_golden_of_images(conv, "few_terms", "sm80");
}

// Features in groups of three, as a norm of groups leaves them: a thread takes whole groups, as
// many as make whole accesses.
TEST(FewTerms, AThreadComputesSeveralGroupsOfFeatures) {
    Colours conv(3, 0);
    conv.f = conv.kernel.factored_dim({conv.named("G", 8), conv.named("F3", 3)});
    expect_golden_of_images(conv, "few_terms_in_groups", "sm80");
}

TEST(FewTerms, PatchesOfImagesAreMultiplied) {
    Colours conv(8, 64);
    expect_golden_of_images(conv, "patches", "sm90a");
    Colours groups(16, 0);
    groups.precision = ir::Precision::tf32;
    groups.f = groups.kernel.factored_dim({groups.named("G", 8), groups.named("F3", 3)});
    expect_golden_of_images(groups, "patches_in_tf32", "sm90a");
}

using Numbers = std::vector<double>;

TEST(FewTerms, TheSumsAreThoseOfTheProduct) {
    constexpr std::int64_t kImages = 2, kFeatures = 4, kHeight = 5, kWidth = 6;
    Colours conv(3, kFeatures);
    conv.output("y", DType::f32, conv.result());
    const ir::Kernel sums = with_sums_of_few_terms(conv.kernel, {}, false);
    EXPECT_EQ(ir::verify(sums), "");
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    const auto random = [&](std::int64_t count) {
        Numbers numbers(static_cast<std::size_t>(count));
        for (double& number : numbers) number = normal(generator);
        return numbers;
    };
    Numbers x = random(kImages * 3 * kHeight * kWidth), w = random(kFeatures * 27),
            bias = random(kFeatures);
    const auto run = [&](const ir::Kernel& kernel) {
        Numbers y(static_cast<std::size_t>(kImages * kFeatures * kHeight * kWidth));
        const auto done = ir::interpret(
            kernel,
            std::vector<ir::TensorView>{
                {x.data(), DType::f64, {kImages, 3, kHeight, kWidth}, {90, 30, 6, 1}},
                {w.data(), DType::f64, {kFeatures, 3, 3, 3}, {27, 9, 3, 1}},
                {bias.data(), DType::f64, {kFeatures}, {1}}},
            std::vector<ir::TensorView>{
                {y.data(), DType::f64, {kImages, kFeatures, kHeight, kWidth}, {120, 30, 6, 1}}});
        EXPECT_TRUE(done.ok()) << done.error().text();
        return y;
    };
    const Numbers expected = run(conv.kernel), actual = run(sums);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(expected[i], actual[i], 1e-12) << i;
}

}  // namespace
}  // namespace fact::lower
