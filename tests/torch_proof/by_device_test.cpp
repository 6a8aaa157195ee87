#include "torch/by_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace fact::exec {
namespace {

TEST(ByDevice, EveryGpuHasItsOwnAndIsAskedOnce) {
    std::vector<int> asked;
    ByDevice<std::string> table([&](c10::DeviceIndex device) -> Result<std::string> {
        asked.push_back(device);
        if (device == 2) return Error{"compiled for another GPU", {}};
        return "on GPU " + std::to_string(device);
    });
    EXPECT_FALSE(table.if_made(1));
    EXPECT_EQ(*table.on(1), "on GPU 1");
    EXPECT_EQ(*table.on(0), "on GPU 0");
    EXPECT_EQ(table.on(2).error().message, "compiled for another GPU");
    EXPECT_EQ(table.on(2).error().message, "compiled for another GPU");
    EXPECT_EQ(*table.on(1), "on GPU 1");
    EXPECT_EQ(asked, (std::vector{1, 0, 2}));
    ASSERT_TRUE(table.if_made(1));
    EXPECT_EQ(**table.if_made(1), "on GPU 1");
    EXPECT_FALSE(table.if_made(2)->ok());
    EXPECT_FALSE(table.if_made(3));
}

TEST(ByDevice, OneThreadMakesItForAll) {
    std::atomic<int> made = 0;
    ByDevice<int> table([&](c10::DeviceIndex device) -> Result<int> {
        ++made;
        std::this_thread::yield();
        return device + 10;
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&, i] {
            const auto device = static_cast<c10::DeviceIndex>(i % 2);
            EXPECT_EQ(*table.on(device), device + 10);
            EXPECT_EQ(**table.if_made(device), device + 10);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace fact::exec
