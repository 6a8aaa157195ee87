#include "schedule/partial_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fact::schedule {
namespace {

Problem problem() {
    Problem p;
    p.m = p.n = p.k = 4096;
    return p;
}

TEST(PartialSchedule, SaysWhatIsThereAndWhatIsNot) {
    PartialSchedule given;
    EXPECT_EQ(to_string(given), "");
    EXPECT_EQ(open_entries(given),
              (std::vector<std::string>{"tile", "cluster", "mainloop", "stages", "scheduler"}));
    given.tile = Tile{128, 256, 64};
    given.stages = 0;
    given.scheduler = Scheduler::persistent;
    given.swizzle = 4;
    EXPECT_EQ(to_string(given), "tile 128x256x64  stages auto  scheduler persistent(swizzle: 4)");
    EXPECT_EQ(open_entries(given), (std::vector<std::string>{"cluster", "mainloop", "raster"}));
    given.cluster = Cluster{2, 1};
    given.mainloop = Mainloop::cooperative;
    given.raster = Raster::n;
    EXPECT_TRUE(open_entries(given).empty());
    EXPECT_EQ(to_string(given), to_string(given.applied_to({})));
}

TEST(PartialSchedule, IsCompletedByTheMostPromising) {
    const auto ranked = candidates_on_sm90(problem());
    EXPECT_EQ(completions({}, ranked), ranked);
    PartialSchedule pingpong;
    pingpong.mainloop = Mainloop::pingpong;
    const auto some = completions(pingpong, ranked);
    ASSERT_FALSE(some.empty());
    EXPECT_LT(some.size(), ranked.size());
    for (const Schedule& schedule : some) {
        EXPECT_EQ(schedule.mainloop, Mainloop::pingpong);
        EXPECT_NE(std::find(ranked.begin(), ranked.end(), schedule), ranked.end());
    }
}

TEST(PartialSchedule, WhatNoCandidateHasIsPutIntoAllOfThem) {
    const auto ranked = candidates_on_sm90(problem());
    PartialSchedule odd;
    odd.swizzle = 5;
    odd.scheduler = Scheduler::persistent;
    const auto all = completions(odd, ranked);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().tile, ranked.front().tile);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].swizzle, 5);
        EXPECT_EQ(std::count(all.begin(), all.end(), all[i]), 1);
    }
    EXPECT_EQ(completions(odd, {}), std::vector{odd.applied_to({})});
}

}  // namespace
}  // namespace fact::schedule
