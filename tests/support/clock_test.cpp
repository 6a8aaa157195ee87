#include "support/clock.h"

#include <gtest/gtest.h>

#include <regex>

namespace fact {
namespace {

TEST(Clock, IsSpelledSoThatTextsSortAsMomentsDo) {
    const auto now = utc_now(), before = utc_days_ago(0.5), long_before = utc_days_ago(400);
    for (const auto& text : {now, before, long_before})
        EXPECT_TRUE(std::regex_match(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")))
            << text;
    EXPECT_LT(before, now);
    EXPECT_LT(long_before, before);
    EXPECT_LE(now, utc_now());
}

}  // namespace
}  // namespace fact
