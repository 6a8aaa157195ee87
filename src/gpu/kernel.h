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
    // Loads into the current device's primary context; sets the shared memory size and queries the
    // occupancy. The code is unloaded with the last copy of the kernel.
    static Result<Kernel> load(std::string_view cubin, LaunchRecord record);

    // Like load, but onto the device with this number in the driver's list, and for the life of the
    // process: a captured CUDA graph may run the code long after its owner is gone, and unloading
    // would break a capture in progress. Loading the same code and record again returns the same
    // kernel.
    static Result<Kernel> load_for_good(std::string_view cubin, LaunchRecord record, int ordinal);

    // A hash of code and record, which is identity() of the kernel that is loaded from them.
    static std::string identity_of(std::string_view cubin, const LaunchRecord& record);

    const LaunchRecord& record() const;
    const std::string& identity() const;

    // Why the kernel cannot take these tensors (parameters, then outputs): rank, dtype, disagreeing
    // extents, strides or addresses that TMA does not accept. "" if it can.
    std::string why_refused(std::span<const TensorArg> tensors) const;

    // The workspaces that a call with these tensors needs, with sizes and strides but no data.
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

// During its lifetime, `launched` is called after every launch that this thread makes. A thread may
// have one observer at a time.
class LaunchObserver {
  public:
    explicit LaunchObserver(std::function<void(const Launch&)> launched);
    ~LaunchObserver();
    LaunchObserver(const LaunchObserver&) = delete;
    LaunchObserver& operator=(const LaunchObserver&) = delete;
};

}  // namespace fact::gpu
