#include "verify/tolerance.h"

#include <gtest/gtest.h>

#include <limits>

namespace fact::verify {
namespace {

Difference with_errors(double largest, double rms) {
    Difference d;
    d.compared = 100;
    d.largest_value = 2;
    d.sum_squared_value = 100;
    d.largest_error = largest * 2;
    d.sum_squared_error = rms * rms * 100;
    return d;
}

TEST(Tolerance, ErrorsAreRelative) {
    const auto pair = relative(with_errors(0.01, 0.002));
    EXPECT_DOUBLE_EQ(pair.largest, 0.01);
    EXPECT_DOUBLE_EQ(pair.rms, 0.002);
}

TEST(Tolerance, TwiceEagersErrorPassesAndMoreDoesNot) {
    const auto eager = with_errors(0.01, 0.005);
    EXPECT_EQ(judge(eager, with_errors(0.02, 0.01), DType::bf16), "");
    EXPECT_EQ(judge(eager, with_errors(0.021, 0.01), DType::bf16),
              "largest error 0.021, at most 0.02 is allowed");
    EXPECT_EQ(judge(eager, with_errors(0.02, 0.011), DType::bf16),
              "root mean square error 0.011, at most 0.01 is allowed");
}

TEST(Tolerance, TheFloorForgivesOneRoundingButNotANarrowerType) {
    const auto exact = with_errors(0, 0);
    EXPECT_EQ(judge(exact, with_errors(0x1p-8, 0x1p-10), DType::bf16), "");
    EXPECT_EQ(judge(exact, with_errors(3e-7, 2e-7), DType::f32), "");
    // One TF32 product, and a bf16 result where f16 was asked for.
    EXPECT_NE(judge(with_errors(1e-6, 5e-7), with_errors(3e-4, 2e-4), DType::f32), "");
    EXPECT_NE(judge(exact, with_errors(0x1p-8, 0x1p-10), DType::f16), "");
    EXPECT_NE(judge(exact, with_errors(1, 0.1), DType::boolean), "");
}

TEST(Tolerance, NanAndMisplacedInfinitiesNeverPass) {
    auto eager = with_errors(0.1, 0.1), kernel = with_errors(0, 0);
    kernel.wrong_nan = eager.wrong_nan = 3;
    EXPECT_EQ(judge(eager, kernel, DType::f32), "NaN is missing or unexpected in 3 elements");
    kernel.wrong_nan = 0;
    kernel.wrong_infinity = 1;
    EXPECT_EQ(judge(eager, kernel, DType::f32),
              "infinity is missing, unexpected or of the wrong sign in 1 elements");
    auto broken = with_errors(0, 0);
    broken.largest_error = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(judge(eager, broken, DType::f32), "");
}

TEST(Tolerance, AnOracleOfZerosKeepsErrorsAbsolute) {
    Difference d;
    d.compared = 4;
    d.largest_error = 0.5;
    d.sum_squared_error = 0.25;
    EXPECT_DOUBLE_EQ(relative(d).largest, 0.5);
    EXPECT_DOUBLE_EQ(relative(d).rms, 0.5);
}

TEST(Tolerance, Tf32IsJudgedByItsBitsAndNothingElseIs) {
    EXPECT_EQ(grain_of(DType::f32, true).rounding, grain_of(DType::f16, false).rounding);
    EXPECT_EQ(grain_of(DType::f32, true).least, grain_of(DType::f32, false).least);
    EXPECT_EQ(grain_of(DType::f32, false).floor.largest, 1e-6);
    for (const auto type : {DType::bf16, DType::f16, DType::f64})
        EXPECT_EQ(grain_of(type, true).floor.largest, floor_of(type).largest);
}

}  // namespace
}  // namespace fact::verify
