#include "gpu/context.h"

namespace fact::gpu {

Result<cuda::Context> primary_context(const cuda::Api& api, cuda::Device& device) {
    cuda::Context current = nullptr;
    if (auto status = api.context_get(&current)) return failure(api, "cuCtxGetCurrent", status);
    if (auto status = current ? api.context_device(&device) : api.device_get(&device, 0))
        return failure(api, "cuCtxGetDevice", status);
    cuda::Context context = nullptr;
    if (auto status = api.primary_retain(&context, device))
        return failure(api, "cuDevicePrimaryCtxRetain", status);
    return context;
}

}  // namespace fact::gpu
