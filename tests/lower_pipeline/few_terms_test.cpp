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
    Colours tf32(3, 16);
    tf32.precision = ir::Precision::tf32;
    EXPECT_TRUE(tf32.has_product());
    Colours half(3, 16);
    half.dtype = DType::bf16;
    EXPECT_TRUE(half.has_product());
}

void expect_golden_of_images(Colours& conv, const std::string& name) {
    conv.output("y", DType::f32, conv.result());
    LowerOptions options;
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
    expect_golden_of_images(conv, "few_terms");
}

// Features in groups of three, as a norm of groups leaves them: a thread takes whole groups, as
// many as make whole accesses.
TEST(FewTerms, AThreadComputesSeveralGroupsOfFeatures) {
    Colours conv(3, 0);
    conv.f = conv.kernel.factored_dim({conv.named("G", 8), conv.named("F3", 3)});
    expect_golden_of_images(conv, "few_terms_in_groups");
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
