// The kernel language's functions in each type, compiled for the host, beside f64: their errors are
// shares of the result, however small it is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#include "common/numbers.cuh"

namespace fact {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

// The largest error over -80 to 80, as a share of the exact result.
template <class Function, class Exact>
double worst(Function function, Exact exact, double first = -80) {
    double most = 0;
    for (double x = first; x < 80; x += 0.0625)
        if (x != 0) most = std::max(most, std::abs(function(static_cast<float>(x)) / exact(x) - 1));
    return most;
}

template <class T>
void expect_tails_within(double share) {
    using F = Functions<T>;
    EXPECT_LT(worst(F::sigmoid, sigmoid), share);
    EXPECT_LT(worst(F::silu, [](double x) { return x * sigmoid(x); }), share);
    // Below -9 there is nothing left of it in f32.
    const auto gelu = [](double x) {
        return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    };
    EXPECT_LT(worst(F::gelu_tanh, gelu, -9), share);
    const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
    EXPECT_LT(worst(F::softplus, softplus), share);
    EXPECT_LT(worst(F::mish, [&](double x) { return x * std::tanh(softplus(x)); }), share);
}

TEST(Functions, TailsKeepTheirShareOfARounding) {
    expect_tails_within<bf16>(0x1p-9 / 8);
    expect_tails_within<half>(0x1p-12 / 8);
    expect_tails_within<float>(1e-5);  // an exp of 80 in f32
}

TEST(Functions, EndsAreZeroAndNaNStays) {
    EXPECT_EQ(Functions<bf16>::sigmoid(-1000.f), 0.f);
    EXPECT_EQ(Functions<bf16>::sigmoid(1000.f), 1.f);
    EXPECT_EQ(Functions<bf16>::silu(-1000.f), 0.f);
    EXPECT_EQ(Functions<bf16>::gelu_tanh(-1000.f), 0.f);
    EXPECT_EQ(Functions<bf16>::gelu_tanh(1000.f), 1000.f);
    EXPECT_EQ(Functions<float>::mish(-1000.f), 0.f);
    EXPECT_EQ(Functions<float>::mish(1000.f), 1000.f);
    EXPECT_TRUE(std::isnan(Functions<float>::mish(NAN)));
    EXPECT_TRUE(std::isnan(Functions<bf16>::sigmoid(NAN)));
    EXPECT_TRUE(std::isnan(Functions<bf16>::gelu_tanh(NAN)));
}

// Many numbers by one: what a division by itself gives.
TEST(Functions, AnyNumberIsDivided) {
    const std::vector<float> numbers{0.f,      -0.f,      1.f,       -1.f,      3.f,    7.1f,
                                     0.3f,     1e-30f,    1e30f,     3e38f,     -3e38f, 1.2e-38f,
                                     0x1p126f, 0x1p-126f, 0x1p100f,  0x1p-100f, 1e-42f, 0x1p-149f,
                                     33.3f,    1e10f,     -INFINITY, INFINITY,  1e-10f, -65.4f};
    for (const float by : numbers)
        for (const float x : numbers) {
            const float expected = x / by, found = Divisor(by).share_of(x);
            if (std::isnan(expected))
                EXPECT_TRUE(std::isnan(found)) << x << " / " << by;
            else if (std::isinf(expected) || std::abs(expected) >= 0x1p-126f)
                EXPECT_EQ(found, expected) << x << " / " << by;
            else
                EXPECT_LE(std::abs(found - expected), 0x1p-149f) << x << " / " << by;
        }
    EXPECT_TRUE(std::isnan(Divisor(NAN).share_of(1.f)));
    EXPECT_TRUE(std::isnan(Divisor(2.f).share_of(NAN)));
    for (float by = 1.f; by < 2.f; by += 0.00119f)
        for (float x = 1.f; x < 2.f; x += 0.00137f)
            EXPECT_EQ(Divisor(by).share_of(x), x / by) << x << " / " << by;
}

TEST(Functions, Tf32IsTheNearestOfElevenBits) {
    const auto tf32 = Functions<float>::tf32;
    EXPECT_EQ(tf32(1.f + 0x1p-11f), 1.f + 0x1p-10f);  // ties go away from 0
    EXPECT_EQ(tf32(-1.f - 0x1p-11f), -1.f - 0x1p-10f);
    EXPECT_EQ(tf32(1.f + 0x1p-12f), 1.f);
    EXPECT_EQ(tf32(1.f - 0x1p-13f), 1.f);  // one exponent up
    EXPECT_EQ(tf32(-0.f), 0.f);
    EXPECT_EQ(tf32(INFINITY), INFINITY);
    EXPECT_TRUE(std::isnan(tf32(NAN)));
    EXPECT_TRUE(std::isnan(tf32(std::bit_cast<float>(0x7fffffffu))));
}

TEST(Functions, LeastAndMostAreNaNIfEitherIs) {
    for (const float x : {1.f, NAN})
        for (const float y : {2.f, NAN}) {
            const bool nan = std::isnan(x) || std::isnan(y);
            EXPECT_EQ(std::isnan(Functions<bf16>::min(x, y)), nan);
            EXPECT_EQ(std::isnan(Functions<bf16>::max(y, x)), nan);
        }
    EXPECT_EQ(Functions<bf16>::min(2.f, 1.f), 1.f);
    EXPECT_EQ(Functions<bf16>::max(1.f, 2.f), 2.f);
    EXPECT_TRUE(std::isnan(Functions<bf16>::relu(NAN)));
}

TEST(Numbers, IntegersKeepTheirBits) {
    EXPECT_EQ(widen(std::int64_t{1} << 40), std::int64_t{1} << 40);
    EXPECT_EQ(sizeof(widen(std::int64_t{1})), 8U);
    EXPECT_EQ(sizeof(widen(std::int32_t{1})), 4U);
    EXPECT_EQ(widen(std::uint8_t{255}), 255);
    EXPECT_EQ(widen(std::int16_t{-3}), -3);
}

}  // namespace
}  // namespace fact
