#include "support/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace fact {
namespace {

TEST(JsonDepth, CountsBracketsOutsideOfStrings) {
    EXPECT_EQ(json_depth(""), 0);
    EXPECT_EQ(json_depth("1"), 0);
    EXPECT_EQ(json_depth("{\"a\": [1, [2]], \"b\": {}}"), 3);
    EXPECT_EQ(json_depth("{\"a\": \"[[[\\\"[[\"}"), 1);
    EXPECT_EQ(json_depth(std::string(100'000, '{')), 100'000);
}

}  // namespace
}  // namespace fact
