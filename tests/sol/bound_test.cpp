#include "sol/bound.h"

#include <gtest/gtest.h>

#include "round_gpu.h"

namespace fact::sol {
namespace {

using testing::round_gpu;

TEST(Bound, ArithmeticBound) {
    const Bound b = bound({1e12, 1e6, Unit::tensor_16bit}, round_gpu());
    EXPECT_DOUBLE_EQ(b.hard_us, 1000);
    EXPECT_DOUBLE_EQ(b.calibrated_us, 1250);
}

TEST(Bound, MemoryBoundUsesL2OnlyForWhatFits) {
    const Bound large = bound({0, 1e9, Unit::tensor_16bit}, round_gpu());
    // As much as L2 holds may have been there before, or be left there.
    EXPECT_DOUBLE_EQ(large.hard_us, (1e9 - 50 * 1048576) / 5e6);
    EXPECT_DOUBLE_EQ(large.calibrated_us, 250);
    const Bound small = bound({0, 1e7, Unit::tensor_16bit}, round_gpu());
    EXPECT_DOUBLE_EQ(small.hard_us, 1);
    EXPECT_DOUBLE_EQ(small.calibrated_us, 1.25);
    const Bound between = bound({0, 6e7, Unit::tensor_16bit}, round_gpu());
    EXPECT_DOUBLE_EQ(between.hard_us, 6) << "all of it passes L2";
}

TEST(Bound, AKernelTakesALaunch) {
    const Bound small = kernel_bound({0, 1e4, Unit::cuda_core_fp32}, round_gpu());
    EXPECT_DOUBLE_EQ(small.hard_us, 0.001);
    EXPECT_DOUBLE_EQ(small.calibrated_us, 2);
    EXPECT_DOUBLE_EQ(kernel_bound({0, 1e9, Unit::cuda_core_fp32}, round_gpu()).calibrated_us, 250);
    EXPECT_EQ(kernel_bound({}, round_gpu()).calibrated_us, 0);
}

TEST(Bound, EachUnitHasItsRate) {
    EXPECT_DOUBLE_EQ(bound({1e12, 0, Unit::tensor_tf32}, round_gpu()).hard_us, 2000);
    EXPECT_DOUBLE_EQ(bound({1e12, 0, Unit::tensor_rounded}, round_gpu()).hard_us, 1000);
    EXPECT_DOUBLE_EQ(bound({1e12, 0, Unit::tensor_split}, round_gpu()).hard_us, 1e6 / 300);
    EXPECT_DOUBLE_EQ(bound({1e12, 0, Unit::cuda_core_fp32}, round_gpu()).hard_us, 20000);
}

TEST(Bound, HardIsNeverAboveCalibratedOnKnownGpus) {
    for (const auto& gpu : gpu_table())
        for (const Unit unit : {Unit::tensor_16bit, Unit::tensor_tf32, Unit::tensor_rounded,
                                Unit::tensor_split, Unit::cuda_core_fp32})
            for (const double bytes : {1e3, 1e7, 1e10}) {
                const Bound b = bound({1e11, bytes, unit}, gpu);
                EXPECT_GT(b.hard_us, 0) << gpu.name;
                EXPECT_LE(b.hard_us, b.calibrated_us) << gpu.name;
            }
}

TEST(Bound, UnitsFollowTheOperands) {
    EXPECT_EQ(kernel_unit(DType::bf16, false), Unit::tensor_16bit);
    EXPECT_EQ(kernel_unit(DType::f32, false), Unit::tensor_split);
    EXPECT_EQ(kernel_unit(DType::f32, true), Unit::tensor_rounded);
    EXPECT_EQ(torch_unit(DType::f32, false), Unit::cuda_core_fp32);
    EXPECT_EQ(torch_unit(DType::f32, true), Unit::tensor_tf32);
    EXPECT_EQ(torch_unit(DType::f64, true), Unit::cuda_core_fp32);
}

}  // namespace
}  // namespace fact::sol
