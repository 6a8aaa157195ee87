// A compiled kernel on a GPU: loaded once, configured at load time, launched from any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"
#include "target/launch_record.h"

namespace fact::gpu {

using Stream = void*;  // a CUstream

// A tensor as a kernel sees it: dimensions of the kernel text, in memory order; strides in
// elements.
struct TensorArg {
    void* data = nullptr;
    DType dtype = DType::f32;
    std::vector<std::int64_t> sizes, strides;
};

class Kernel {
  public:
    // Loads into the current device's primary context; sets shared memory and asks the occupancy.
    // The code is unloaded with the last copy of the kernel.
    static Result<Kernel> load(std::string_view cubin, LaunchRecord record);

    // The same on this device of the driver's list, and for the life of the process: a captured
    // CUDA graph may run the code long after whoever loaded it is gone, and unloading would break a
    // capture that is under way. Whoever asks for the same code and record gets the same kernel.
    static Result<Kernel> load_for_good(std::string_view cubin, LaunchRecord record, int ordinal);

    // A hash of code and record: identity() of the kernel that is loaded from them.
    static std::string identity_of(std::string_view cubin, const LaunchRecord& record);

    const LaunchRecord& record() const;
    // A hash of its code and its record.
    const std::string& identity() const;

    // Why these tensors (parameters, then outputs) cannot be served: rank, dtype, disagreeing
    // extents, strides or addresses TMA cannot take. "" when they can.
    std::string refuses(std::span<const TensorArg> tensors) const;

    // The workspaces such a call needs, with sizes and strides filled in and no data.
    std::vector<TensorArg> workspaces(std::span<const TensorArg> tensors) const;

    // `tensors`: parameters, outputs, workspaces. Launches whose prepares_from is one of `prepared`
    // are skipped: their workspaces are already filled.
    Result<> launch(std::span<const TensorArg> tensors, std::span<const std::vector<int>> prepared,
                    Stream stream) const;

  private:
    struct State;
    static Result<std::shared_ptr<State>> load_on(int ordinal, std::string_view cubin,
                                                  LaunchRecord record);
    std::shared_ptr<State> state_;
};

// While it lives, `launched` is called after every launch that this thread makes.
class LaunchObserver {
  public:
    explicit LaunchObserver(std::function<void(const Launch&)> launched);
    ~LaunchObserver();
    LaunchObserver(const LaunchObserver&) = delete;
    LaunchObserver& operator=(const LaunchObserver&) = delete;
};

}  // namespace fact::gpu
