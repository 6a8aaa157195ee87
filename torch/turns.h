// A worker's use of the GPU beside other processes (docs/search.md): alone while it times
// something, else together with them.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <functional>

#include "support/shared_lock.h"

namespace fact::exec {

// Nothing of this process runs on the GPU while it waits for another kind of use. On a CPU nothing
// is waited for.
class Turns {
  public:
    using Take = std::function<void(LockKind)>;  // waits until the GPU may be used so

    Turns(c10::Device device, Take take) : device_(device), take_(std::move(take)) {}

    void begin();  // whoever asked for this work has taken the GPU for it, together with others
    void alone() { take(LockKind::exclusive); }
    void together() { take(LockKind::shared); }
    // Lets those go first who wait to time something, if this process has used the GPU for long.
    void rest();

  private:
    void take(LockKind kind);

    c10::Device device_;
    Take take_;
    LockKind kind_ = LockKind::shared;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace fact::exec
