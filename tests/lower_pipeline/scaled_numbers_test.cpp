// Convolutions in TF32's precision by f16 numbers.
#include "lower/pipeline/scaled_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
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

ir::TensorView view_of(Numbers& numbers, std::vector<std::int64_t> sizes) {
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t next = 1;
    for (std::size_t d = sizes.size(); d-- > 0; next *= sizes[d]) strides[d] = next;
    return ir::TensorView{numbers.data(), DType::f64, sizes, strides};
}

Numbers run(const ir::Kernel& kernel, Numbers& x, Numbers& weights, Numbers& bias) {
    Numbers y(static_cast<std::size_t>(kImages * kFeatures * kSize * kSize));
    const std::vector params{view_of(x, {kImages, kChannels, kSize, kSize}),
                             view_of(weights, {kFeatures, kChannels, 3, 3}),
                             view_of(bias, {kFeatures})};
    const auto done =
        ir::interpret(kernel, params, std::vector{view_of(y, {kImages, kFeatures, kSize, kSize})});
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

// relu of the batch norm of the images, then the convolution; as a product of their rows if they
// are channels last.
struct NormalisedConvolution : Tf32Convolution {
    explicit NormalisedConvolution(bool channels_last) : Tf32Convolution(kWide) {
        std::vector<ir::DimId> order{batch, c, h, w};
        if (channels_last) order = {batch, h, w, c};
        const ir::ExprId x = param("x", dtype, order);
        const ir::ExprId gain = param("gain", dtype, {c});
        const ir::ExprId number = b.extent(kernel.factored_dim({batch, h, w}));
        const auto times = [&](ir::ExprId one, ir::ExprId other) {
            return b.binary(ir::BinaryOp::mul, one, other);
        };
        const auto mean = [&](ir::ExprId value) {
            return b.binary(ir::BinaryOp::div, b.reduce(ir::ReduceOp::sum, value, {batch, h, w}),
                            number);
        };
        const ir::ExprId centered = b.binary(ir::BinaryOp::sub, x, mean(x));
        const ir::ExprId inverse = b.unary(ir::UnaryOp::rsqrt, mean(times(centered, centered)));
        const ir::ExprId images = b.unary(ir::UnaryOp::relu, times(times(centered, inverse), gain));
        output("y", dtype, channels_last ? of_rows(images) : of(images));
        EXPECT_EQ(ir::verify(kernel), "");
    }
    ir::ExprId of_rows(ir::ExprId images) {
        kernel.dims.push_back({"P", {}, {}, along_h});
        kernel.dims.push_back({"Q", {}, {}, along_w});
        p = kernel.dim("P"), q = kernel.dim("Q");
        const ir::DimId sum = kernel.factored_dim({r, s, c});
        const ir::ExprId windows = b.permute(b.window(images, {p, q}), {batch, p, q, r, s, c});
        const ir::ExprId weights = b.permute(param("w", dtype, {f, c, r, s}), {f, r, s, c});
        const ir::ExprId acc = b.product(b.view(windows, {kernel.factored_dim({batch, p, q}), sum}),
                                         b.transpose(b.view(weights, {f, sum})), precision);
        return b.view(acc, {batch, p, q, f});
    }
    std::vector<std::int64_t> small() const {
        std::vector<std::int64_t> extents(kernel.dims.size(), ir::kUnknownExtent);
        for (const auto& [dim, extent] :
             {std::pair{batch, kImages}, {f, kFeatures}, {h, kSize}, {w, kSize}})
            extents[ir::index(dim)] = extent;
        EXPECT_EQ(ir::solve_extents(kernel, extents), "");
        return extents;
    }
    static constexpr std::int64_t kWide = 64;
};

// What a batch norm gives is computed where its f16 numbers are stored, of small images too and in
// either order; nothing reads it to find its largest numbers.
TEST(ScaledNumbers, ThoseOfABatchNormNeedNoMaxima) {
    for (const bool channels_last : {false, true}) {
        const NormalisedConvolution conv(channels_last);
        LowerOptions options;
        options.extents = conv.small();
        const Pipeline pipeline = *stages(conv.kernel, options);
        std::vector<std::string> stored;
        for (const ir::Tensor& tensor : pipeline.intermediates) {
            if (tensor.type.dims.size() < 3) continue;
            std::string dims(info(tensor.type.dtype).name);
            for (const ir::DimId dim : tensor.type.dims) dims += " " + pipeline.kernel[dim].name;
            stored.push_back(dims);
        }
        std::erase(stored, "f32 B H C");  // parts of the sums over columns
        EXPECT_EQ(stored, std::vector<std::string>{"f16 B H W C"}) << channels_last;
    }
}

// Their powers of two are those of any number of images, and so are prepared with the weights.
TEST(ScaledNumbers, ThoseOfABatchNormArePreparedFromWeights) {
    NormalisedConvolution conv(false);
    LowerOptions options;
    options.extents = conv.small();
    const auto lowered = lower(conv.kernel, options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    std::vector<std::vector<int>> prepared;
    for (const Launch& launch : lowered->record.launches) prepared.push_back(launch.prepares_from);
    const int x = 0, gain = 1, weights = 2;
    const auto has = [&](const std::vector<int>& from) {
        return std::ranges::count(prepared, from);
    };
    EXPECT_EQ(has({gain}), 1);
    EXPECT_EQ(has({gain, weights}), 2);
    EXPECT_EQ(has({x, weights}) + has({x, gain, weights}), 0);
}

TEST(ScaledNumbers, ThoseOfABatchNormAreAsPreciseAsTf32) {
    for (const bool channels_last : {false, true}) {
        NormalisedConvolution conv(channels_last);
        const ir::Kernel scaled = with_scaled_numbers(conv.kernel, conv.small());
        EXPECT_EQ(ir::verify(scaled), "");
        EXPECT_GT(scaled.exprs.size(), conv.kernel.exprs.size());
        std::mt19937 generator(1);
        std::normal_distribution<double> normal;
        const auto random = [&](std::int64_t count, double size) {
            Numbers numbers(static_cast<std::size_t>(count));
            for (double& number : numbers) number = size * normal(generator);
            return numbers;
        };
        const std::int64_t pixels = kSize * kSize;
        Numbers x = random(kImages * conv.kWide * pixels, 1e12), gain = random(conv.kWide, 1e-6),
                weights = random(kFeatures * conv.kWide * 9, 1e9);
        const std::int64_t c = conv.kWide, f = kFeatures;
        const auto images = [&](Numbers& numbers, std::int64_t channels) {
            return channels_last ? view_of(numbers, {kImages, kSize, kSize, channels})
                                 : view_of(numbers, {kImages, channels, kSize, kSize});
        };
        Numbers bias(kFeatures, 0);
        const auto results = [&](const ir::Kernel& kernel) {
            Numbers y(static_cast<std::size_t>(kImages * f * pixels));
            std::vector params{images(x, c), view_of(gain, {c}), view_of(weights, {f, c, 3, 3})};
            if (!channels_last) params.push_back(view_of(bias, {f}));
            const auto done = ir::interpret(kernel, params, std::vector{images(y, f)});
            EXPECT_TRUE(done.ok()) << done.error().text();
            return y;
        };
        const Numbers expected = results(conv.kernel), actual = results(scaled);
        const double typical = 1e-6 * 1e9 * std::sqrt(9.0 * conv.kWide);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(expected[i], actual[i], 2e-3 * typical) << channels_last << ' ' << i;
    }
}

}  // namespace
}  // namespace fact::lower
