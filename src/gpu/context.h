// The driver's contexts: kernels and memory are in a device's primary context, like torch's.
// Internal to gpu/.
#pragma once

#include "gpu/cuda_api.h"

namespace fact::gpu {

// Makes a context current for a scope. A thread that had none keeps it, so that the next scope is
// cheaper.
class CurrentContext {
  public:
    CurrentContext(const cuda::Api& api, cuda::Context context) : api_(api) {
        cuda::Context current = nullptr;
        status_ = api.context_get(&current);
        if (status_ != 0 || current == context) return;
        if (!current) {
            status_ = api.context_set(context);
            return;
        }
        status_ = api.context_push(context);
        pushed_ = status_ == 0;
    }
    ~CurrentContext() {
        cuda::Context popped = nullptr;
        if (pushed_) api_.context_pop(&popped);
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;
    cuda::Status status() const { return status_; }

  private:
    const cuda::Api& api_;
    cuda::Status status_ = 0;
    bool pushed_ = false;
};

// During its lifetime, the thread may do what would otherwise break other threads' captures.
class RelaxedCapture {
  public:
    explicit RelaxedCapture(const cuda::Api& api) : api_(api) {
        api_.exchange_capture_mode(&mode_);
    }
    ~RelaxedCapture() { api_.exchange_capture_mode(&mode_); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const cuda::Api& api_;
    int mode_ = cuda::kRelaxedCapture;
};

// The primary context of the thread's device, or of device 0 if the thread has none; sets `device`
// to that device.
Result<cuda::Context> primary_context(const cuda::Api& api, cuda::Device& device);

// Runs `call` with the primary context current.
template <class Call>
Result<> in_context(std::string_view what, Call call) {
    const auto& loaded = cuda::api();
    if (!loaded) return loaded.error();
    cuda::Device device = 0;
    auto context = primary_context(*loaded, device);
    if (!context) return context.error();
    const CurrentContext current(*loaded, *context);
    if (current.status()) return failure(*loaded, "cuCtxSetCurrent", current.status());
    if (auto status = call(*loaded)) return failure(*loaded, what, status);
    return Ok{};
}

}  // namespace fact::gpu
