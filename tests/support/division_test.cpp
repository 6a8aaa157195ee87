#include "support/division.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace fact {
namespace {

TEST(Division, RoundsUp) {
    static_assert(ceil_div(0, 8) == 0 && ceil_div(1, 8) == 1);
    static_assert(ceil_div(8, 8) == 1 && ceil_div(9, 8) == 2);
    static_assert(round_up(0, 16) == 0 && round_up(16, 16) == 16 && round_up(17, 16) == 32);
    EXPECT_EQ(ceil_div(std::int64_t{1} << 40, 3), 366503875926);
    EXPECT_EQ(round_up((std::int64_t{1} << 40) + 1, 8), (std::int64_t{1} << 40) + 8);
}

}  // namespace
}  // namespace fact
