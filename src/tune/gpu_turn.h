// Processes that share a GPU use it in turns: two at once would time each other's kernels. Where
// nothing is timed they may use it side by side.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/shared_lock.h"

namespace fact::tune {

// What is shared. Time: exclusive while something is timed, shared while inputs and results are
// made and compared. Memory: exclusive for who needs much of it, shared by those who need some;
// whoever wants both takes memory first.
enum class GpuPart { time, memory };

// One process's part of the GPUs that are visible here, among all processes of this user. Nothing
// is waited for on a CPU. Whoever lets go must have waited for what it launched.
class GpuTurn {
  public:
    GpuTurn() = default;
    // `what` names the work for the log: every hold is a JSON line in the file that FACT_TURN_LOG
    // names.
    GpuTurn(GpuPart part, std::string_view device, std::string what);
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
        double waited_s = 0;
        std::chrono::steady_clock::time_point since;
        std::chrono::system_clock::time_point when;
    };

    std::string file_;  // "" on a CPU
    GpuPart part_ = GpuPart::time;
    std::string what_;
    std::unique_ptr<Hold> hold_;
    bool said_ = false;
};

}  // namespace fact::tune
