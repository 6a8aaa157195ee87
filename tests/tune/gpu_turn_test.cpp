#include "tune/gpu_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace fact::tune {
namespace {

TEST(GpuTurn, OneAtATime) {
    auto first = gpu_turn("cuda");
    ASSERT_TRUE(first) << first.error().text();
    std::atomic<bool> mine = false;
    std::thread other([&] {
        const auto second = gpu_turn("cuda");
        mine = second.ok();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(mine) << "the first one still measures";
    first->reset();
    other.join();
    EXPECT_TRUE(mine);
}

TEST(GpuTurn, NobodyWaitsForACpu) {
    const auto first = gpu_turn("cpu"), second = gpu_turn("cpu");
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(first->has_value());
}

}  // namespace
}  // namespace fact::tune
