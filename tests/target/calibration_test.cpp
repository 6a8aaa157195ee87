#include "target/calibration.h"

#include <gtest/gtest.h>

namespace fact {
namespace {

Ceiling one(const char* name, double value) {
    return {name, "TFLOP/s", value, value * 0.9, value * 1.1, 51, value * 0.8, 5, "by hand"};
}

Calibration h200() {
    Calibration c;
    c.gpu = "h200";
    c.device = "NVIDIA H200";
    c.date = "2026-03-01T12:00:00Z";
    c.driver = "13.0";
    c.toolchain = "nvcc 13.0.88, CUTLASS 4.2.0";
    c.ceilings = {one("memory_read", 4.4), one("memory_write", 4.1), one("memory_copy", 4.2),
                  one("l2_read", 7),       one("bf16", 760),         one("f16", 770),
                  one("tf32", 300),        one("f32_split", 164),    one("fp32", 60),
                  one("launch", 1.5)};
    return c;
}

TEST(Calibration, JsonKeepsEverything) {
    const auto read = calibration_from_json(to_json(h200()));
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(*read, h200());
}

TEST(Calibration, BrokenFilesAreErrors) {
    EXPECT_FALSE(calibration_from_json("").ok());
    EXPECT_FALSE(calibration_from_json("[]").ok());
    EXPECT_FALSE(calibration_from_json("{\"format\": \"fact-calibration-9\"}").ok());
    EXPECT_FALSE(calibration_from_json("{\"format\": \"fact-calibration-1\", \"gpu\": 7}").ok());
}

TEST(Calibration, TheBestMeasurementOfEachCeilingCounts) {
    const auto spec = with_ceilings(*find_gpu("h200"), h200());
    ASSERT_TRUE(spec.ok()) << spec.error().text();
    EXPECT_DOUBLE_EQ(spec->calibrated_memory_tbs, 4.4);
    EXPECT_DOUBLE_EQ(spec->calibrated_l2_tbs, 7);
    EXPECT_DOUBLE_EQ(spec->calibrated_bf16_tflops, 770);
    EXPECT_DOUBLE_EQ(spec->calibrated_split_tflops, 164);
    EXPECT_DOUBLE_EQ(spec->calibrated_tf32_tflops, 380) << "half of bf16";
    EXPECT_DOUBLE_EQ(spec->calibrated_rounded_tflops, 300) << "our own kernel's";
    EXPECT_DOUBLE_EQ(spec->calibrated_fp32_tflops, 60);
    EXPECT_DOUBLE_EQ(spec->launch_us, 1.5);
    EXPECT_EQ(spec->bf16_tflops, find_gpu("h200")->bf16_tflops) << "peaks stay the data sheet's";
}

TEST(Calibration, FasterThanThePeakIsNoMeasurement) {
    auto fast = h200();
    fast.ceilings[0].value = 5.2;
    const auto spec = with_ceilings(*find_gpu("h200"), fast);
    ASSERT_FALSE(spec.ok());
    EXPECT_EQ(spec.error().message,
              "memory_read was measured as 5.2, but the data sheet's peak is 4.8");
}

TEST(Calibration, WhatIsMissingIsNamed) {
    auto part = h200();
    part.ceilings.erase(part.ceilings.begin() + 3);
    EXPECT_EQ(with_ceilings(*find_gpu("h200"), part).error().message,
              "it has no measurement of l2_read");
    part = h200();
    part.ceilings.pop_back();
    EXPECT_EQ(with_ceilings(*find_gpu("h200"), part).error().message,
              "it has no measurement of launch");
}

}  // namespace
}  // namespace fact
