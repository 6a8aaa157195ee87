// The driver's contexts: kernels and memory live in a device's primary one, as torch's do.
// Internal to gpu/.
#pragma once

#include "gpu/cuda_api.h"

namespace fact::gpu {

// Makes a context current for a scope. A thread that had none keeps it: asking again is cheaper.
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

// The primary context of the thread's device, or of device 0 where the thread has none.
Result<cuda::Context> primary_context(const cuda::Api& api, cuda::Device& device);

}  // namespace fact::gpu
