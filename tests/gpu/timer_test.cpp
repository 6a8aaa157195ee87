#include "gpu/timer.h"

#include <gtest/gtest.h>

#include "gpu/driver.h"

namespace fact::gpu {
namespace {

TEST(Timer, WithoutAGpuThereIsAReason) {
    if (device_info()) GTEST_SKIP() << "there is a GPU";
    const auto event = Event::create();
    ASSERT_FALSE(event.ok());
    EXPECT_FALSE(event.error().message.empty());
}

TEST(Timer, TimePassesBetweenEvents) {
    if (!device_info()) GTEST_SKIP() << "needs a GPU";
    const auto begin = Event::create(), end = Event::create();
    ASSERT_TRUE(begin.ok() && end.ok());
    ASSERT_TRUE(begin->record(nullptr).ok());
    ASSERT_TRUE(end->record(nullptr).ok());
    const auto us = end->microseconds_since(*begin);
    ASSERT_TRUE(us.ok()) << us.error().text();
    EXPECT_GE(*us, 0);
    EXPECT_LT(*us, 1e6);
}

}  // namespace
}  // namespace fact::gpu
