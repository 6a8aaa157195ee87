// Largest numbers that are known before any is read.
#include "lower/pipeline/magnitudes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "convolution.h"
#include "ir/interpreter.h"

namespace fact::lower {
namespace {

using ir::BinaryOp;
using ir::ExprId;
using ir::UnaryOp;

constexpr std::int64_t kNumImages = 2, kNumChannels = 3, kPixels = 8;

// Images x[B, C, M], normalised over B and M, with a gain and a shift for each channel.
struct Normalised : Fixture {
    ir::DimId batch = kernel.dim("B"), c = kernel.dim("C");
    ExprId x = param("x", DType::f32, {batch, c, m}), gain = param("gain", DType::f32, {c}),
           shift = param("shift", DType::f32, {c});
    ExprId centered{}, inverse{};

    explicit Normalised(bool constant = true) : Fixture("normalised") {
        if (constant)
            for (const auto& [dim, extent] : {std::pair{batch, kNumImages}, {m, kPixels}})
                kernel.dims[ir::index(dim)].extent = extent;
        normalise(x);
    }
    void normalise(ExprId of) {
        const ExprId number = b.extent(kernel.factored_dim({batch, m}));
        const auto mean = [&](ExprId value) {
            return b.binary(BinaryOp::div, b.reduce(ir::ReduceOp::sum, value, {batch, m}), number);
        };
        centered = b.binary(BinaryOp::sub, of, mean(of));
        const ExprId variance = mean(times(centered, centered));
        inverse = b.unary(UnaryOp::rsqrt, b.binary(BinaryOp::add, variance, b.literal(1e-5)));
    }
    ExprId times(ExprId one, ExprId other) { return b.binary(BinaryOp::mul, one, other); }
    ExprId plus(ExprId one, ExprId other) { return b.binary(BinaryOp::add, one, other); }
    ExprId result() { return plus(times(times(centered, inverse), gain), shift); }

    std::optional<ExprId> largest(ExprId value) { return largest_magnitude(kernel, value, c); }
    // Of values whose magnitudes do not depend on channels.
    double number(ExprId value) {
        const auto known = largest(value);
        const auto* literal = known ? std::get_if<ir::Literal>(&kernel[*known].node) : nullptr;
        return literal ? literal->value : -1;
    }
    // The largest numbers of the three channels, if x is 100 at one pixel of each and 0 elsewhere.
    std::vector<double> of_channels(ExprId value) {
        kernel.outputs = {{{"y", {DType::f32, {c}}, {}}, value}};
        std::vector<double> images(kNumImages * kNumChannels * kPixels), gains{1, -4, 0.5},
            shifts{0, -1, 2}, y(kNumChannels);
        for (std::size_t i = 0; i < kNumChannels; ++i) images[i * kPixels + i] = 100;
        const auto view = [](std::vector<double>& numbers, std::vector<std::int64_t> sizes,
                             std::vector<std::int64_t> strides) {
            return ir::TensorView{numbers.data(), DType::f64, std::move(sizes), std::move(strides)};
        };
        const auto done = ir::interpret(
            kernel,
            std::vector{view(images, {kNumImages, kNumChannels, kPixels},
                             {kNumChannels * kPixels, kPixels, 1}),
                        view(gains, {kNumChannels}, {1}), view(shifts, {kNumChannels}, {1})},
            std::vector{view(y, {kNumChannels}, {1})});
        EXPECT_TRUE(done.ok()) << done.error().text();
        return y;
    }
};

TEST(Magnitudes, OfABatchNormFollowFromItsWeights) {
    Normalised net;
    const ExprId active = net.b.unary(UnaryOp::relu, net.result());
    const auto known = net.largest(active);
    ASSERT_TRUE(known);
    const double deviations = std::sqrt(kNumImages * kPixels);
    const auto bounds = net.of_channels(*known);
    EXPECT_NEAR(bounds[0], deviations, 1e-4);
    EXPECT_NEAR(bounds[1], 4 * deviations + 1, 1e-4);
    EXPECT_NEAR(bounds[2], 0.5 * deviations + 2, 1e-4);
    // One number that is far from all others comes close to that.
    const auto found = net.of_channels(
        net.b.reduce(ir::ReduceOp::max, net.b.unary(UnaryOp::abs, active), {net.batch, net.m}));
    for (std::size_t i = 0; i < kNumChannels; ++i) EXPECT_LE(found[i], bounds[i]);
    EXPECT_GT(found[0], 0.95 * bounds[0]);
}

TEST(Magnitudes, FactorsMayBeInAnyOrder) {
    Normalised net;
    const ExprId scale = net.times(net.inverse, net.gain);
    const auto known = net.largest(net.times(net.centered, scale));
    ASSERT_TRUE(known);
    EXPECT_NEAR(net.of_channels(*known)[1], 16, 1e-4);
}

TEST(Magnitudes, OfBoundedFunctionsAreNumbers) {
    Normalised net;
    const ExprId three = net.b.literal(3), six = net.b.literal(6), zero = net.b.literal(0);
    EXPECT_EQ(net.number(net.b.unary(UnaryOp::sigmoid, net.x)), 1);
    const ExprId low = net.b.binary(BinaryOp::max, net.plus(net.x, three), zero);
    EXPECT_EQ(net.number(net.b.binary(BinaryOp::min, low, six)), 6);
}

TEST(Magnitudes, OfOtherValuesAreNotKnown) {
    Normalised net;
    EXPECT_FALSE(net.largest(net.x));
    EXPECT_FALSE(net.largest(net.centered));
    EXPECT_FALSE(net.largest(net.plus(net.result(), net.x)));  // a residual
    EXPECT_FALSE(net.largest(net.times(net.x, net.inverse)));  // not what the deviation is of
    EXPECT_FALSE(net.largest(net.b.unary(UnaryOp::exp, net.result())));
}

// Of two inverses and one number, or the other way round, only one pair is normalised.
TEST(Magnitudes, OneCopyOfEachFactorIsNormalised) {
    Normalised net;
    net.normalise(net.b.unary(UnaryOp::tanh, net.x));
    const ExprId z = net.times(net.centered, net.inverse);
    for (const ExprId product : {net.times(z, net.inverse), net.times(z, net.centered)}) {
        const auto known = net.largest(product);
        ASSERT_TRUE(known);
        const auto bounds = net.of_channels(*known);
        const auto found = net.of_channels(net.b.reduce(
            ir::ReduceOp::max, net.b.unary(UnaryOp::abs, product), {net.batch, net.m}));
        for (std::size_t i = 0; i < kNumChannels; ++i) {
            EXPECT_GT(found[i], 0);
            EXPECT_LE(found[i], bounds[i]);
        }
    }
    EXPECT_FALSE(net.largest(net.times(net.times(z, z), net.gain)));
}

// Typical numbers would be too far below the product of what is possible for each.
TEST(Magnitudes, OneFactorAtMostIsNormalised) {
    Normalised net;
    const ExprId once = net.result();
    net.normalise(once);
    const ExprId twice = net.result();
    EXPECT_TRUE(net.largest(twice));  // again, of what is
    EXPECT_TRUE(net.largest(net.plus(once, twice)));
    EXPECT_TRUE(net.largest(net.times(net.b.unary(UnaryOp::sigmoid, once), twice)));
    EXPECT_FALSE(net.largest(net.times(once, twice)));
    EXPECT_FALSE(net.largest(net.times(net.plus(once, twice), once)));
}

// Nothing says that the next call has no more images.
TEST(Magnitudes, ExtentsMayBeOthersInTheNextCall) {
    Normalised net(false);
    const auto known = net.largest(net.result());
    ASSERT_TRUE(known);
    EXPECT_NEAR(net.of_channels(*known)[0], std::sqrt(std::pow(2, 31)), 1);
}

}  // namespace
}  // namespace fact::lower
