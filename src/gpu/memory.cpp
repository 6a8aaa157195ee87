#include "gpu/memory.h"

#include <algorithm>

#include "gpu/context.h"

namespace fact::gpu {

Result<DeviceMemory> DeviceMemory::allocate(std::size_t bytes) {
    std::uint64_t address = 0;
    auto done = in_context("cuMemAlloc", [&](const cuda::Api& api) {
        return api.memory_allocate(&address, std::max<std::size_t>(bytes, 1));
    });
    if (!done) return done.error();
    return DeviceMemory(reinterpret_cast<void*>(address));
}

DeviceMemory::~DeviceMemory() {
    // Failures are ignored: in a context that a kernel broke nothing can be freed, and the process
    // is about to end anyway.
    if (data_)
        (void)in_context("cuMemFree", [&](const cuda::Api& api) {
            return api.memory_free(reinterpret_cast<std::uint64_t>(data_));
        });
}

Result<> DeviceMemory::write(std::span<const std::byte> bytes) const {
    return in_context("copying to the GPU", [&](const cuda::Api& api) {
        return api.copy_to_device(reinterpret_cast<std::uint64_t>(data_), bytes.data(),
                                  bytes.size());
    });
}

Result<> DeviceMemory::read(std::span<std::byte> bytes) const {
    return in_context("copying from the GPU", [&](const cuda::Api& api) {
        return api.copy_to_host(bytes.data(), reinterpret_cast<std::uint64_t>(data_), bytes.size());
    });
}

}  // namespace fact::gpu
