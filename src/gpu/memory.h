// Memory on the GPU, for callers without a framework that allocates it.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "support/result.h"

namespace fact::gpu {

// Freed when this object is destroyed. Copies wait for everything launched earlier on the default
// stream.
class DeviceMemory {
  public:
    // At least one byte, in the primary context of the current device.
    static Result<DeviceMemory> allocate(std::size_t bytes);
    DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~DeviceMemory();

    void* data() const { return data_; }
    Result<> write(std::span<const std::byte> bytes) const;
    Result<> read(std::span<std::byte> bytes) const;

  private:
    explicit DeviceMemory(void* data) : data_(data) {}
    void* data_ = nullptr;
};

}  // namespace fact::gpu
