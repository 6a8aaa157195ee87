#include "gpu/driver.h"

#include <fmt/format.h>

#include "gpu/cuda_api.h"

namespace fact::gpu {

std::string arch_name(int major, int minor) {
    // From 9.0 on, tensor-core instructions exist only in the "a" variant of an architecture.
    return fmt::format("sm{}{}{}", major, minor, major >= 9 ? "a" : "");
}

Result<DeviceInfo> device_info(int ordinal) {
    const auto& loaded = cuda::api();
    if (!loaded) return loaded.error();
    const cuda::Api& api = *loaded;

    int count = 0;
    if (auto status = api.device_count(&count)) return failure(api, "cuDeviceGetCount", status);
    if (count <= ordinal)
        return Error{fmt::format("there is no GPU {}: the driver lists {}", ordinal, count),
                     "CUDA_VISIBLE_DEVICES may hide it."};
    cuda::Device device = 0;
    if (auto status = api.device_get(&device, ordinal)) return failure(api, "cuDeviceGet", status);

    DeviceInfo info;
    char name[128] = {};
    if (auto status = api.device_name(name, sizeof(name), device))
        return failure(api, "cuDeviceGetName", status);
    info.name = name;

    int major = 0, minor = 0;
    const std::pair<int*, int> attributes[] = {
        {&major, cuda::kCapabilityMajor},
        {&minor, cuda::kCapabilityMinor},
        {&info.num_sms, cuda::kMultiprocessorCount},
        {&info.shared_bytes_per_block, cuda::kSharedBytesPerBlockOptin},
    };
    for (auto [value, attribute] : attributes)
        if (auto status = api.device_attribute(value, attribute, device))
            return failure(api, "cuDeviceGetAttribute", status);
    info.arch = arch_name(major, minor);

    std::size_t bytes = 0;
    if (auto status = api.device_memory(&bytes, device))
        return failure(api, "cuDeviceTotalMem", status);
    info.memory_gib = static_cast<double>(bytes) / (1 << 30);

    int version = 0;
    if (auto status = api.driver_version(&version))
        return failure(api, "cuDriverGetVersion", status);
    info.driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    return info;
}

}  // namespace fact::gpu
