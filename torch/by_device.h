// One object per GPU, made when it is first needed.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "support/result.h"

namespace fact::exec {

// Safe on any thread: one makes the object, the others wait for it.
template <class T>
class ByDevice {
  public:
    using Make = std::function<Result<T>(c10::DeviceIndex)>;
    explicit ByDevice(Make make) : make_(std::move(make)) {}

    // The object of this GPU, or why there is none; making it is tried once.
    Result<T> on(c10::DeviceIndex device) {
        const std::lock_guard lock(mutex_);
        auto found = made_.find(device);
        if (found == made_.end()) found = made_.emplace(device, make_(device)).first;
        return found->second;
    }

    // The same without making it: nullopt if it was not needed yet.
    std::optional<Result<T>> if_made(c10::DeviceIndex device) const {
        const std::lock_guard lock(mutex_);
        const auto found = made_.find(device);
        return found == made_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    const Make make_;
    mutable std::mutex mutex_;
    std::map<c10::DeviceIndex, Result<T>> made_;
};

}  // namespace fact::exec
