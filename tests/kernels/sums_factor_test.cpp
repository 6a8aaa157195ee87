// Weighted sums of values in blocks that have factors of their own, compiled for the host, beside
// f64.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#define __device__
#include "sm90/sums_factor.cuh"

namespace fact::sm90 {
namespace {

// A number of f16's bits, in whose range those of a block are brought.
float rounded(float x) {
    if (x == 0.f) return x;
    const float unit = std::ldexp(1.f, std::max(std::ilogb(x), -14) - 10);
    return std::nearbyint(x / unit) * unit;
}

struct Block {
    std::vector<float> weights;  // at most 1, as many as values
    double values;               // their size
};

// The largest error of the sum, beside the sum of magnitudes.
double error(const std::vector<Block>& blocks) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    RunningFactor running;
    float sum[1] = {};
    double exact = 0, size = 0;
    for (const Block& block : blocks) {
        std::vector<float> values;
        float most = 0;
        for (std::size_t i = 0; i < block.weights.size(); ++i) {
            values.push_back(static_cast<float>(block.values * normal(random)));
            most = std::max(most, std::abs(values.back()));
        }
        const float factor = most == 0 ? 0x1p-126f : std::ldexp(1.f, std::ilogb(most) - 14);
        running.take(factor);
        scale_all(sum, running.fade);
        for (std::size_t i = 0; i < values.size(); ++i) {
            float weight[1] = {block.weights[i]};
            scale_all(weight, running.share);
            sum[0] += rounded(weight[0]) * rounded(values[i] / factor);
            exact += double{block.weights[i]} * values[i];
            size += std::abs(double{block.weights[i]} * values[i]);
        }
    }
    return std::abs(double{sum[0]} * running.unit - exact) / (size == 0 ? 1 : size);
}

constexpr double kBits = 2.0 / 1024;  // two roundings to eleven bits

std::vector<float> some(float weight) {
    return std::vector<float>(64, weight);
}

TEST(RunningFactor, BlocksOfEverySize) {
    for (const double a : {1e-20, 1e-3, 1.0, 1e3, 1e20})
        for (const double b : {1e-20, 1e-3, 1.0, 1e3, 1e20})
            EXPECT_LE(error({{some(0.3f), a}, {some(1.f), b}, {some(0.7f), a}}), kBits) << a << b;
}

// Values that a row does not see take no bits from those it sees.
TEST(RunningFactor, LargeValuesThatAreHidden) {
    for (const double hidden : {1e4, 1e6, 1e12, 1e20})
        for (const bool first : {true, false}) {
            const Block large{some(0.f), hidden}, seen{some(0.01f), 1.0};
            EXPECT_LE(error(first ? std::vector{large, seen} : std::vector{seen, large, seen}),
                      kBits)
                << hidden;
        }
}

TEST(RunningFactor, BlocksOfZerosChangeNothing) {
    EXPECT_LE(error({{some(1.f), 1e10}, {some(1.f), 0}, {some(0.5f), 1.0}}), kBits);
    EXPECT_EQ(error({{some(1.f), 0}, {some(1.f), 0}}), 0);
}

}  // namespace
}  // namespace fact::sm90
