#include "gpu/cuda_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace fact::gpu::cuda {

namespace {

constexpr const char* kHint =
    "A GPU needs NVIDIA's driver on this machine (nvidia-smi should list it); without one, "
    "everything but running kernels still works.";

// Looks up functions of the driver: find() those that FACT needs, optional() those that may be
// missing and then are null.
struct Symbols {
    void* library;
    std::string missing;  // the first needed function that the driver lacks

    template <class F>
    void find(F& function, const char* name) {
        optional(function, name);
        if (!function && missing.empty()) missing = name;
    }
    template <class F>
    void optional(F& function, const char* name) {
        function = reinterpret_cast<F>(dlsym(library, name));
    }
};

Result<Api> load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return Error{"no CUDA driver: libcuda.so.1 could not be loaded", kHint};

    Api api{};
    Symbols symbols{library, ""};
    symbols.find(api.init, "cuInit");
    symbols.find(api.driver_version, "cuDriverGetVersion");
    symbols.find(api.error_string, "cuGetErrorString");
    symbols.find(api.device_count, "cuDeviceGetCount");
    symbols.find(api.device_get, "cuDeviceGet");
    symbols.find(api.device_name, "cuDeviceGetName");
    symbols.find(api.device_attribute, "cuDeviceGetAttribute");
    symbols.find(api.device_memory, "cuDeviceTotalMem_v2");
    symbols.find(api.primary_retain, "cuDevicePrimaryCtxRetain");
    symbols.find(api.context_get, "cuCtxGetCurrent");
    symbols.find(api.context_set, "cuCtxSetCurrent");
    symbols.find(api.context_push, "cuCtxPushCurrent_v2");
    symbols.find(api.context_pop, "cuCtxPopCurrent_v2");
    symbols.find(api.context_device, "cuCtxGetDevice");
    symbols.find(api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    symbols.find(api.module_load, "cuModuleLoadData");
    symbols.find(api.module_unload, "cuModuleUnload");
    symbols.find(api.module_function, "cuModuleGetFunction");
    symbols.find(api.function_set, "cuFuncSetAttribute");
    symbols.optional(api.function_load, "cuFuncLoad");
    symbols.find(api.active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    symbols.find(api.active_clusters, "cuOccupancyMaxActiveClusters");
    symbols.find(api.memory_allocate, "cuMemAlloc_v2");
    symbols.find(api.memory_free, "cuMemFree_v2");
    symbols.find(api.copy_to_device, "cuMemcpyHtoD_v2");
    symbols.find(api.copy_to_host, "cuMemcpyDtoH_v2");
    symbols.find(api.event_create, "cuEventCreate");
    symbols.find(api.event_destroy, "cuEventDestroy_v2");
    symbols.find(api.event_record, "cuEventRecord");
    symbols.find(api.event_synchronize, "cuEventSynchronize");
    symbols.optional(api.event_elapsed, "cuEventElapsedTime");
    if (!api.event_elapsed) symbols.find(api.event_elapsed, "cuEventElapsedTime_v2");
    symbols.find(api.launch, "cuLaunchKernelEx");
    symbols.find(api.encode_tiled, "cuTensorMapEncodeTiled");
    symbols.find(api.encode_im2col, "cuTensorMapEncodeIm2col");
    if (!symbols.missing.empty())
        return Error{fmt::format("the CUDA driver is too old: it has no {}", symbols.missing),
                     "Install a driver of CUDA 12.4 or newer."};
    if (Status status = api.init(0)) {
        Error error = failure(api, "cuInit", status);
        error.message = "no usable GPU: " + error.message;
        error.hint = kHint;
        return error;
    }
    return api;
}

}  // namespace

const Result<Api>& api() {
    static const Result<Api> loaded = load();
    return loaded;
}

Error failure(const Api& api, std::string_view what, Status status) {
    const char* text = nullptr;
    if (api.error_string(status, &text) != 0 || !text) text = "unknown error";
    return {fmt::format("{} failed: {} (CUDA error {})", what, text, status), ""};
}

}  // namespace fact::gpu::cuda
