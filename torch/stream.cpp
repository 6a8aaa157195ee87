#include "torch/stream.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <cstdint>

namespace fact::exec {

bool cuda_available() {
    if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) return false;
    return c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount() > 0;
}

void* current_cuda_stream(c10::DeviceIndex device) {
    // Part of torch's stable C interface, but only in libraries built with CUDA.
    using Function = std::int32_t (*)(std::int32_t, void**);
    static const auto function =
        reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
    TORCH_CHECK(function, "this PyTorch was built without CUDA");
    void* stream = nullptr;
    TORCH_CHECK(function(device, &stream) == 0, "torch has no current stream on CUDA device ",
                static_cast<int>(device));
    return stream;
}

bool is_capturing(void* stream) {
    using Function = int (*)(void*, int*);
    static const auto function = [] {
        void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        return driver ? reinterpret_cast<Function>(dlsym(driver, "cuStreamIsCapturing")) : nullptr;
    }();
    int status = 0;
    return function && function(stream, &status) == 0 && status != 0;
}

void synchronize(c10::Device device) {
    if (!device.is_cuda()) return;
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    guard.synchronizeStream(guard.getStream(device));
}

void synchronize_all(c10::Device device) {
    if (device.is_cuda()) c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(device.index());
}

}  // namespace fact::exec
