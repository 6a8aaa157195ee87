// The CUDA driver, loaded at run time: the same program starts on a machine without a GPU.
#pragma once

#include <string>

#include "support/result.h"

namespace fact::gpu {

struct DeviceInfo {
    std::string name;  // "NVIDIA H200"
    std::string arch;  // "sm90a"
    int num_sms = 0, shared_bytes_per_block = 0;
    double memory_gib = 0;
    std::string driver_version;
};

// A device by its number in the driver's list, or why there is none.
Result<DeviceInfo> device_info(int ordinal = 0);

// The spelling of a compute capability in records and options: 9.0 is "sm90a", 8.0 is "sm80".
std::string arch_name(int major, int minor);

}  // namespace fact::gpu
