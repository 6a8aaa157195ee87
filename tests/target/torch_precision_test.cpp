#include "target/torch_precision.h"

#include <gtest/gtest.h>

namespace fact {
namespace {

TEST(TorchPrecision, SurvivesJson) {
    TorchPrecision precision;
    precision.tf32 = {true, false};
    precision.reduced_bf16_sums = false;
    precision.fp16_accumulation = true;
    const auto back = torch_precision_from_json(to_json(precision));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, precision);
}

TEST(TorchPrecision, WhatIsNotNamedIsTorchsDefault) {
    const auto read = torch_precision_from_json("{\"float32_matmul_precision\": \"highest\"}");
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, TorchPrecision{});
    EXPECT_FALSE(read->tf32.products);
    EXPECT_TRUE(read->tf32.convolutions);
}

TEST(TorchPrecision, DamagedSettingsAreAnError) {
    EXPECT_FALSE(torch_precision_from_json("[]").ok());
    EXPECT_FALSE(torch_precision_from_json("{\"tf32_products\": 3}").ok());
}

TEST(TorchPrecision, IsSaidInWords) {
    EXPECT_EQ(describe({}), "fp32 products in fp32, convolutions in TF32");
    TorchPrecision all;
    all.tf32 = true;
    all.reduced_bf16_sums = all.reduced_fp16_sums = false;
    all.fp16_accumulation = true;
    EXPECT_EQ(
        describe(all),
        "fp32 products in TF32, convolutions in TF32, no reduced sums in bf16, no reduced sums "
        "in fp16, fp16 accumulated in fp16");
}

}  // namespace
}  // namespace fact
