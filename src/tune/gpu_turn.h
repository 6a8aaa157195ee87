// Processes that share a GPU use it in turns: two at once would time each other's kernels. Where
// nothing is timed they may use it side by side.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/shared_lock.h"
#include "tune/gpu_use.h"

namespace fact::tune {

// Exclusive while something is timed, shared while inputs and results are made and compared. All
// processes of this user that see these GPUs wait for each other, but nobody on a CPU. Whoever lets
// go must have waited for what it launched.
class GpuTurn {
  public:
    GpuTurn() = default;
    // `what` names the work for the log: every hold is a JSON line in the file that FACT_TURN_LOG
    // names.
    GpuTurn(std::string_view device, std::string what);
    GpuTurn(GpuTurn&& other) noexcept = default;
    GpuTurn& operator=(GpuTurn&& other) noexcept = default;
    ~GpuTurn() { release(); }

    // Lets go of what this object has before it waits, so that two who want more cannot wait for
    // each other. An object says only once that it waits.
    Result<> take(LockKind kind);
    void release();
    std::optional<LockKind> held() const {
        return hold_ ? std::optional(hold_->kind) : std::nullopt;
    }

  private:
    struct Hold {
        SharedLock lock;
        LockKind kind;
        GpuUse use;
    };

    std::string file_;  // "" on a CPU
    std::string what_;
    std::unique_ptr<Hold> hold_;
    bool said_ = false;
};

}  // namespace fact::tune
