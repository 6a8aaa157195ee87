#include "ir/number.h"

#include <gtest/gtest.h>

namespace fact::ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Number, EveryHalfReadsAndWritesBack) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double f16 = f32_from_f16(half), bf16 = f32_from_bf16(half);
        if (std::isnan(f16))
            EXPECT_TRUE(std::isnan(f32_from_f16(f16_from_f64(f16))));
        else
            EXPECT_EQ(f16_from_f64(f16), half);
        if (std::isnan(bf16))
            EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f64(bf16))));
        else
            EXPECT_EQ(bf16_from_f64(bf16), half);
    }
}

// Between two neighbours the nearer one, on the tie the even one; a hair decides, even one that
// f32 cannot hold.
TEST(Number, RoundsToNearestEven) {
    const auto check = [](auto from_bits, auto to_bits, std::uint16_t infinity) {
        for (std::uint16_t bits = 0; bits + 1 < infinity; ++bits) {
            const double low = from_bits(bits), high = from_bits(bits + 1);
            const double middle = low + (high - low) / 2, hair = (high - low) * 0x1p-40;
            const std::uint16_t even = bits % 2 ? bits + 1 : bits;
            ASSERT_EQ(to_bits(middle), even) << bits;
            ASSERT_EQ(to_bits(middle - hair), bits) << bits;
            ASSERT_EQ(to_bits(middle + hair), bits + 1) << bits;
            ASSERT_EQ(to_bits(-middle - hair), (bits + 1) | 0x8000) << bits;
        }
    };
    check(f32_from_f16, f16_from_f64, 0x7c00);
    check(f32_from_bf16, bf16_from_f64, 0x7f80);
}

TEST(Number, OverflowsToInfinity) {
    EXPECT_EQ(f16_from_f64(65519.99), 0x7bff);
    EXPECT_EQ(f16_from_f64(65520.0), 0x7c00);
    EXPECT_EQ(f16_from_f64(-1e300), 0xfc00);
    EXPECT_EQ(f16_from_f64(kInfinity), 0x7c00);
    EXPECT_EQ(bf16_from_f64(3.4e38), 0x7f80);
    EXPECT_EQ(bf16_from_f64(1e300), 0x7f80);
    EXPECT_EQ(bf16_from_f64(-kInfinity), 0xff80);
    EXPECT_EQ(f16_from_f64(1e-300), 0);
    EXPECT_EQ(f16_from_f64(-1e-300), 0x8000);
}

TEST(Number, IntegersTruncateAndClamp) {
    EXPECT_EQ(round_to(2.9, DType::i32), 2);
    EXPECT_EQ(round_to(-2.9, DType::i8), -2);
    EXPECT_EQ(round_to(300, DType::u8), 255);
    EXPECT_EQ(round_to(-1, DType::u8), 0);
    EXPECT_EQ(round_to(1e30, DType::i64), 0x1p63);
    EXPECT_EQ(round_to(std::nan(""), DType::i32), 0);
    EXPECT_EQ(round_to(0.25, DType::boolean), 1);
    EXPECT_EQ(round_to(0.1, DType::f32), 0.1f);
    EXPECT_EQ(round_to(0.1, DType::f64), 0.1);
}

TEST(Number, LoadsAndStoresWithStrides) {
    const double values[] = {1, -2.5, 300, 0};
    for (const DTypeInfo& row : kDTypes) {
        std::uint64_t memory[16] = {};
        double back[4];
        store(memory, row.dtype, 1, 3, 4, values);
        load(memory, row.dtype, 1, 3, 4, back);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(back[i], round_to(values[i], row.dtype)) << row.name;
        load(memory, row.dtype, 2, 3, 3, back);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(back[i], 0) << row.name;
    }
}

}  // namespace
}  // namespace fact::ir
