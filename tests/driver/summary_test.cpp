#include "driver/summary.h"

#include <gtest/gtest.h>

namespace fact::driver {
namespace {

tune::Realization realization(bool resumed) {
    tune::CandidateResult built, found;
    built.compile_key = found.compile_key = "key";
    built.outcome = found.outcome = verify::Outcome::passed;
    found.cached = true;
    tune::Realization out;
    out.realized = true;
    out.resumed = resumed;
    out.candidates = {built, built, found};
    return out;
}

TEST(Summary, CountsTheWorkOfThisRunOnly) {
    const auto fresh = summarize({}, {}, {}, {{"a", realization(false)}}, {}).statistics;
    EXPECT_EQ(fresh.compiled, 2);
    EXPECT_EQ(fresh.cached, 1);
    const auto again = summarize({}, {}, {}, {{"a", realization(true)}}, {}).statistics;
    EXPECT_EQ(again.compiled, 0);
    EXPECT_EQ(again.cached, 0);
    EXPECT_EQ(again.realized, 1);
    EXPECT_EQ(again.candidates.at("passed"), 3);
}

}  // namespace
}  // namespace fact::driver
