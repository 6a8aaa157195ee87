#include "agent/advice.h"

#include <gtest/gtest.h>

namespace fact::agent {
namespace {

match::StageCost stage(double arithmetic_us, double memory_us, double launch_us = 3) {
    match::StageCost cost;
    cost.kind = arithmetic_us > 0 ? lower::StageKind::product : lower::StageKind::rows;
    cost.arithmetic_us = arithmetic_us;
    cost.memory_us = memory_us;
    cost.bound_us = std::max({arithmetic_us, memory_us, launch_us});
    return cost;
}

MeasuredKernel seen(double bound_us, std::vector<match::StageCost> stages, double time_us) {
    MeasuredKernel all;
    all.cost.bound_us = bound_us;
    for (const auto& one : stages) all.cost.expected_us += one.bound_us;
    all.stages = std::move(stages);
    all.time_us = time_us;
    return all;
}

std::string first(const MeasuredKernel& all) {
    const auto said = advice(all);
    return said.empty() ? "" : said.front();
}

TEST(Advice, NamesWhatLimitsAStage) {
    EXPECT_EQ(limit_of(stage(50, 20)), "tensor cores");
    EXPECT_EQ(limit_of(stage(10, 20)), "memory");
    EXPECT_EQ(limit_of(stage(1, 2)), "launch");
}

TEST(Advice, SaysNothingNearTheBound) {
    EXPECT_TRUE(advice(seen(20, {stage(10, 20)}, 21)).empty());
}

TEST(Advice, SaysWhatToTry) {
    EXPECT_NE(first(seen(20, {stage(0, 20), stage(0, 25)}, 50)).find("cut into 2 kernels"),
              std::string::npos);
    EXPECT_NE(first(seen(1, {stage(0, 1)}, 3)).find("launch"), std::string::npos);
    EXPECT_NE(first(seen(20, {stage(20, 5)}, 40)).find("other schedules"), std::string::npos);
    EXPECT_NE(first(seen(20, {stage(0, 20)}, 40)).find("order of dimensions"), std::string::npos);
    auto spilling = seen(20, {stage(20, 5)}, 40);
    spilling.spill_bytes = 64;
    EXPECT_NE(first(spilling).find("spills 64 bytes"), std::string::npos);
    auto slow = seen(20, {stage(0, 20)}, 24);
    slow.torch_us = 22;
    EXPECT_NE(first(slow).find("torch's own"), std::string::npos);
}

TEST(Advice, NamesTheKernelThatLosesMost) {
    auto near = stage(0, 20), far = stage(0, 10);
    near.kernel = "loss_1", near.outputs = "rows";
    far.kernel = "loss_10", far.outputs = "total";
    auto both = seen(30, {near, far}, 55);
    both.launches = {{"loss_1_kernel", 21}, {"loss_10_maximum", 4}, {"loss_10_kernel", 26}};
    EXPECT_DOUBLE_EQ(time_of(near, both.launches), 21);
    EXPECT_DOUBLE_EQ(time_of(far, both.launches), 30);
    EXPECT_NE(first(both).find("writes total loses most time: it takes 30.0 us"), std::string::npos)
        << first(both);
    both.launches.clear();
    EXPECT_EQ(first(both).find("loses most"), std::string::npos);
}

}  // namespace
}  // namespace fact::agent
