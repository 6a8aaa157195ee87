// The few driver functions FACT calls, declared by us: no CUDA header is needed to build.
// Internal to gpu/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/result.h"

namespace fact::gpu::cuda {

using Status = int;  // CUresult; 0 is success
using Device = int;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Event = struct EventTag*;

enum DeviceAttribute : int {
    kMultiprocessorCount = 16,
    kCapabilityMajor = 75,
    kCapabilityMinor = 76,
    kSharedBytesPerBlockOptin = 97,
};
enum FunctionAttribute : int {
    kMaxDynamicSharedBytes = 8,
    kNonPortableClusterAllowed = 14,
};

// In this mode a thread may do anything while a stream is captured into a graph. The other modes
// forbid calls that may wait for the GPU, such as loading code.
constexpr int kRelaxedCapture = 2;

struct alignas(128) TensorMap {
    std::uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

struct LaunchAttribute {
    static constexpr int kClusterDimension = 4;
    static constexpr int kMayStartEarly = 6;  // programmatic stream serialization
    int id = 0, padding = 0;
    union {
        struct {
            unsigned x, y, z;
        } cluster;
        int allowed;
        char bytes[64];
    } value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
    unsigned grid_x = 1, grid_y = 1, grid_z = 1;
    unsigned block_x = 1, block_y = 1, block_z = 1;
    unsigned shared_bytes = 0;
    void* stream = nullptr;
    LaunchAttribute* attributes = nullptr;
    unsigned num_attributes = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

struct Api {
    Status (*init)(unsigned);
    Status (*driver_version)(int*);
    Status (*error_string)(Status, const char**);
    Status (*device_count)(int*);
    Status (*device_get)(Device*, int ordinal);
    Status (*device_name)(char*, int, Device);
    Status (*device_attribute)(int*, int attribute, Device);
    Status (*device_memory)(std::size_t*, Device);
    Status (*primary_retain)(Context*, Device);
    Status (*context_get)(Context*);
    Status (*context_set)(Context);
    Status (*context_push)(Context);
    Status (*context_pop)(Context*);
    Status (*context_device)(Device*);
    Status (*exchange_capture_mode)(int* mode);  // of the calling thread
    Status (*module_load)(Module*, const void* image);
    Status (*module_unload)(Module);
    Status (*module_function)(Function*, Module, const char*);
    Status (*function_set)(Function, int attribute, int value);
    Status (*function_load)(Function);  // may be absent (drivers before 12.4)
    Status (*active_blocks)(int*, Function, int block, std::size_t shared_bytes);
    Status (*active_clusters)(int*, Function, const LaunchConfig*);
    Status (*memory_allocate)(std::uint64_t*, std::size_t);
    Status (*memory_free)(std::uint64_t);
    Status (*copy_to_device)(std::uint64_t, const void*, std::size_t);
    Status (*copy_to_host)(void*, std::uint64_t, std::size_t);
    Status (*event_create)(Event*, unsigned flags);
    Status (*event_destroy)(Event);
    Status (*event_record)(Event, void* stream);
    Status (*event_synchronize)(Event);
    Status (*event_elapsed)(float* milliseconds, Event begin, Event end);
    Status (*launch)(const LaunchConfig*, Function, void** params, void** extra);
    Status (*encode_tiled)(TensorMap*, int dtype, std::uint32_t rank, void* address,
                           const std::uint64_t* extents, const std::uint64_t* strides,
                           const std::uint32_t* box, const std::uint32_t* element_strides,
                           int interleave, int swizzle, int promotion, int fill);
    Status (*encode_im2col)(TensorMap*, int dtype, std::uint32_t rank, void* address,
                            const std::uint64_t* extents, const std::uint64_t* strides,
                            const int* lower_corner, const int* upper_corner,
                            std::uint32_t channels, std::uint32_t pixels,
                            const std::uint32_t* element_strides, int interleave, int swizzle,
                            int promotion, int fill);
};

// The driver, loaded and initialised once; the same Error every time if there is none.
const Result<Api>& api();

// "cuLaunchKernelEx failed: invalid argument".
Error failure(const Api& api, std::string_view what, Status status);

}  // namespace fact::gpu::cuda
