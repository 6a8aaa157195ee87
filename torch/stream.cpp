#include "torch/stream.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>

namespace fact::exec {

bool cuda_available() {
    if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) return false;
    return c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount() > 0;
}

c10::Stream current_stream(c10::Device device) {
    return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

void* current_cuda_stream(c10::DeviceIndex device) {
    // Part of torch's stable C interface, but only in libraries built with CUDA.
    using Function = std::int32_t (*)(std::int32_t, void**);
    static const auto function =
        reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
    TORCH_CHECK(function, "this PyTorch was built without CUDA");
    void* stream = nullptr;
    TORCH_CHECK(
        function(device, &stream) == 0,
        fmt::format("torch has no current stream on CUDA device {}", static_cast<int>(device)));
    return stream;
}

namespace {

template <class Function>
Function* driver_function(const char* name) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver ? reinterpret_cast<Function*>(dlsym(driver, name)) : nullptr;
}

// While a thread captures a CUDA graph, other threads may not wait for the GPU, unless they use the
// relaxed capture mode.
class RelaxedCaptureMode {
  public:
    RelaxedCaptureMode() { exchange(); }
    ~RelaxedCaptureMode() { exchange(); }

  private:
    void exchange() {
        static auto* const function =
            driver_function<int(int*)>("cuThreadExchangeStreamCaptureMode");
        if (function) function(&mode_);
    }
    int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

}  // namespace

bool is_capturing(void* stream) {
    static auto* const function = driver_function<int(void*, int*)>("cuStreamIsCapturing");
    int status = 0;
    return function && function(stream, &status) == 0 && status != 0;
}

void free_unused_memory() {
    if (!cuda_available()) return;
    auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
    if (allocator && allocator->initialized()) allocator->emptyCache();
}

void synchronize(c10::Device device) {
    if (!device.is_cuda()) return;
    const RelaxedCaptureMode relaxed;
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    guard.synchronizeStream(guard.getStream(device));
}

void synchronize_all(c10::Device device) {
    if (device.is_cuda()) c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(device.index());
}

}  // namespace fact::exec
