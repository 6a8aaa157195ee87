#include "target/torch_precision.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact {
namespace {

TEST(TorchPrecision, SurvivesJson) {
    TorchPrecision precision;
    precision.tf32 = {true, false};
    precision.reduced_bf16_sums = false;
    precision.fp16_accumulation = true;
    EXPECT_EQ(torch_precision_from(json_of(precision)), precision);
}

TEST(TorchPrecision, WhatIsNotNamedIsTorchsDefault) {
    const auto read = torch_precision_from({{"float32_matmul_precision", "highest"}});
    EXPECT_EQ(read, TorchPrecision{});
    EXPECT_FALSE(read.tf32.products);
    EXPECT_TRUE(read.tf32.convolutions);
}

TEST(TorchPrecision, DamagedSettingsAreAnError) {
    EXPECT_THROW(torch_precision_from(nlohmann::json::array()), SchemaError);
    EXPECT_THROW(torch_precision_from({{"tf32_products", 3}}), SchemaError);
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
