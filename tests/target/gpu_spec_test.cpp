#include "target/gpu_spec.h"

#include <gtest/gtest.h>

namespace fact {
namespace {

TEST(GpuSpec, H200IsTheOneThatWasMeasured) {
    auto h200 = find_gpu("h200");
    ASSERT_TRUE(h200);
    EXPECT_EQ(h200->arch, "sm90a");
    EXPECT_EQ(h200->num_sms, 132);
    EXPECT_NEAR(h200->calibrated_bf16_tflops, 790, 1e-9);
    EXPECT_NEAR(h200->calibrated_tf32_tflops, 400, 1e-9);
    EXPECT_NEAR(h200->calibrated_fp32_tflops, 52, 1e-9);
    EXPECT_NEAR(h200->calibrated_split_tflops, 185, 1e-9);
    EXPECT_NEAR(h200->split_tflops, h200->bf16_tflops / 3, 1e-9) << "three f16 products";
    EXPECT_NEAR(h200->rounded_tflops, h200->bf16_tflops, 1e-9) << "one f16 product";
    const auto a100 = find_gpu("a100-80gb");
    EXPECT_NEAR(a100->split_tflops, a100->tf32_tflops / 3, 1e-9) << "three TF32 products";
    EXPECT_NEAR(a100->rounded_tflops, a100->tf32_tflops, 1e-9) << "one TF32 product";
    EXPECT_NEAR(h200->calibrated_memory_tbs, 4.3, 1e-9);
}

// Peaks as printed in the datasheets, which quote a clock at or below the highest one.
TEST(GpuSpec, PeaksAgreeWithTheDatasheets) {
    EXPECT_NEAR(find_gpu("a100-80gb")->bf16_tflops, 312, 1);
    EXPECT_NEAR(find_gpu("a100-40gb")->tf32_tflops, 156, 1);
    EXPECT_NEAR(find_gpu("a100-40gb")->fp32_tflops, 19.5, 0.1);
    EXPECT_NEAR(find_gpu("h100-sxm")->fp32_tflops, 67, 0.5);
    EXPECT_GE(find_gpu("h100-sxm")->bf16_tflops, 989);
    EXPECT_GE(find_gpu("h100-pcie")->bf16_tflops, 756);
    EXPECT_GE(find_gpu("b200")->bf16_tflops, 2250);
    EXPECT_GE(find_gpu("l40s")->bf16_tflops, 362);
    EXPECT_GE(find_gpu("rtx-4090")->bf16_tflops, 165);
}

TEST(GpuSpec, ACeilingIsNeverAboveThePeak) {
    for (const GpuSpec& spec : gpu_table()) {
        SCOPED_TRACE(spec.name);
        EXPECT_LT(spec.calibrated_bf16_tflops, spec.bf16_tflops);
        EXPECT_LT(spec.calibrated_tf32_tflops, spec.tf32_tflops);
        EXPECT_LT(spec.calibrated_fp32_tflops, spec.fp32_tflops);
        EXPECT_LT(spec.calibrated_split_tflops, spec.split_tflops);
        EXPECT_LT(spec.calibrated_rounded_tflops, spec.rounded_tflops);
        EXPECT_LT(spec.calibrated_memory_tbs, spec.memory_tbs);
        EXPECT_GT(spec.calibrated_memory_tbs, 0);
        EXPECT_GT(spec.l2_tbs, spec.memory_tbs);
    }
}

TEST(GpuSpec, EveryArchitectureHasADefault) {
    EXPECT_EQ(default_gpu("sm90a")->name, "h200");
    for (const GpuSpec& spec : gpu_table()) EXPECT_EQ(default_gpu(spec.arch)->arch, spec.arch);
    EXPECT_FALSE(default_gpu("sm70"));
    EXPECT_FALSE(find_gpu("h300"));
}

TEST(GpuSpec, DevicesAreKnownByTheDriversName) {
    const auto row = [](std::string_view device) {
        const auto spec = gpu_of_device(device);
        return spec ? std::string(spec->name) : std::string();
    };
    EXPECT_EQ(row("NVIDIA H200"), "h200");
    EXPECT_EQ(row("NVIDIA H100 80GB HBM3"), "h100-sxm");
    EXPECT_EQ(row("NVIDIA H100 PCIe"), "h100-pcie");
    EXPECT_EQ(row("NVIDIA A100-SXM4-40GB"), "a100-40gb");
    EXPECT_EQ(row("NVIDIA A100 80GB PCIe"), "a100-80gb");
    EXPECT_EQ(row("NVIDIA GeForce RTX 4090"), "rtx-4090");
    EXPECT_EQ(row("Tesla V100"), "");
}

}  // namespace
}  // namespace fact
