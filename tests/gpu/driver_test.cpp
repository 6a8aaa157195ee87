#include "gpu/driver.h"

#include <gtest/gtest.h>

#include "gpu/kernel.h"

namespace fact::gpu {
namespace {

TEST(Driver, SaysWhatIsThereOrWhyNothingIs) {
    auto device = device_info();
    if (device) {
        EXPECT_FALSE(device->name.empty());
        EXPECT_GT(device->num_sms, 0);
        EXPECT_TRUE(device->arch.starts_with("sm"));
        return;
    }
    EXPECT_FALSE(device.error().message.empty());
    EXPECT_FALSE(device.error().hint.empty());
}

TEST(Driver, NoSuchDevice) {
    EXPECT_FALSE(device_info(1 << 20).ok());
}

TEST(Driver, ArchNames) {
    EXPECT_EQ(arch_name(8, 0), "sm80");
    EXPECT_EQ(arch_name(9, 0), "sm90a");
    EXPECT_EQ(arch_name(10, 0), "sm100a");
}

TEST(Kernel, DamagedRecordIsAnErrorBeforeAnyGpuIsAsked) {
    LaunchRecord record;
    record.kernel = "broken";
    auto kernel = Kernel::load("", record);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().message,
              "the launch record of 'broken' is damaged: number of launches is out of range");
}

}  // namespace
}  // namespace fact::gpu
