// Convolutions in TF32's precision by f16 numbers.
#include "lower/pipeline/scaled_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "convolution.h"
#include "ir/extents.h"
#include "ir/interpreter.h"

namespace fact::lower {
namespace {

constexpr std::int64_t kImages = 3, kChannels = 40, kFeatures = 8, kSize = 7;

struct Tf32Convolution : Convolution {
    explicit Tf32Convolution(std::int64_t channels) : Convolution("conv", channels) {
        precision = ir::Precision::tf32;
    }
    // As if the images were large.
    std::vector<std::int64_t> large() const {
        std::vector<std::int64_t> extents(kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] :
             {std::pair{batch, std::int64_t{64}}, {f, 128}, {h, 128}, {w, 128}})
            extents[ir::index(dim)] = extent;
        EXPECT_EQ(ir::solve_extents(kernel, extents), "");
        return extents;
    }
};

std::vector<DType> stored_types(std::int64_t channels, bool large, const char* arch = "sm90a") {
    Tf32Convolution conv(channels);
    conv.output("y", DType::f32, conv.result());
    LowerOptions options;
    options.arch = arch;
    if (large) options.extents = conv.large();
    std::vector<DType> types;
    for (const ir::Tensor& tensor : stages(conv.kernel, options)->intermediates)
        if (tensor.type.dims.size() > 1) types.push_back(tensor.type.dtype);
    return types;
}

TEST(ScaledNumbers, LargeOnesOfManyChannelsAreMultipliedInF16) {
    const std::vector<DType> f16{DType::f32, DType::f16, DType::f16};  // maxima, images, weights
    const std::vector<DType> f32{DType::f32, DType::f32};
    EXPECT_EQ(stored_types(64, true), f16);
    EXPECT_EQ(stored_types(64, false), f32);
    EXPECT_EQ(stored_types(32, true), f32);  // f16 would fill half of each line with zeros
    EXPECT_EQ(stored_types(64, true, "sm80"), f32);
}

TEST(ScaledNumbers, TheReportNamesThePrecisionOfTheText) {
    Tf32Convolution conv(64);
    conv.output("y", DType::f32, conv.result());
    LowerOptions options;
    options.extents = conv.large();
    const auto lowered = lower(conv.kernel, options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    EXPECT_EQ(lowered->record.precision, "tf32");
}

using Numbers = std::vector<double>;

Numbers run(const ir::Kernel& kernel, Numbers& x, Numbers& weights, Numbers& bias) {
    Numbers y(static_cast<std::size_t>(kImages * kFeatures * kSize * kSize));
    const auto view = [](Numbers& numbers, std::vector<std::int64_t> sizes) {
        std::vector<std::int64_t> strides(sizes.size());
        std::int64_t next = 1;
        for (std::size_t d = sizes.size(); d-- > 0; next *= sizes[d]) strides[d] = next;
        return ir::TensorView{numbers.data(), DType::f64, sizes, strides};
    };
    const std::vector params{view(x, {kImages, kChannels, kSize, kSize}),
                             view(weights, {kFeatures, kChannels, 3, 3}), view(bias, {kFeatures})};
    const auto done =
        ir::interpret(kernel, params, std::vector{view(y, {kImages, kFeatures, kSize, kSize})});
    EXPECT_TRUE(done.ok()) << done.error().text();
    return y;
}

// Images and features may be of any magnitude; one is all zeros.
TEST(ScaledNumbers, TheyAreAsPreciseAsTf32) {
    Tf32Convolution conv(kChannels);
    conv.output("y", DType::f32, conv.result());
    const ir::Kernel scaled = with_scaled_numbers(conv.kernel, conv.large());
    EXPECT_EQ(ir::verify(scaled), "");
    EXPECT_GT(scaled.exprs.size(), conv.kernel.exprs.size());

    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    const double image_size[kImages] = {1, 1e15, 0};
    Numbers x, weights, bias(kFeatures, 0);
    for (const double size : image_size)
        for (int i = 0; i < kChannels * kSize * kSize; ++i) x.push_back(size * normal(generator));
    for (int f = 0; f < kFeatures; ++f)
        for (int i = 0; i < kChannels * 9; ++i)
            weights.push_back(std::pow(10, 3 * f - 12) * normal(generator));
    const Numbers expected = run(conv.kernel, x, weights, bias);
    const Numbers actual = run(scaled, x, weights, bias);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto image = i / (kFeatures * kSize * kSize);
        const auto feature = i / (kSize * kSize) % kFeatures;
        const double typical = image_size[image] *
                               std::pow(10, 3.0 * static_cast<double>(feature) - 12) *
                               std::sqrt(9.0 * kChannels);
        EXPECT_NEAR(expected[i], actual[i], 2e-3 * typical) << i;
    }
}

}  // namespace
}  // namespace fact::lower
