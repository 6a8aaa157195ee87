// What every GPU has its own of, made where it is first asked for.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "support/result.h"

namespace fact::exec {

// Safe on any thread: one makes, the others wait for it.
template <class T>
class ByDevice {
  public:
    using Make = std::function<Result<T>(c10::DeviceIndex)>;
    explicit ByDevice(Make make) : make_(std::move(make)) {}

    // Of this GPU, or why there is none; tried once.
    Result<T> on(c10::DeviceIndex device) {
        const std::lock_guard lock(mutex_);
        auto found = made_.find(device);
        if (found == made_.end()) found = made_.emplace(device, make_(device)).first;
        return found->second;
    }

    // The same, but nothing where it was not asked for yet.
    std::optional<Result<T>> known(c10::DeviceIndex device) const {
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
