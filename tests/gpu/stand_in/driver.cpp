// A driver of one GPU that runs nothing and counts what it is asked: for tests of what threads do
// with the launcher. Built as libcuda.so.1, and found before a real one by LD_LIBRARY_PATH.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> launches{0}, modules{0};
thread_local void* current = nullptr;
char context;

}  // namespace

extern "C" {

long stand_in_launches() {
    return launches;
}
long stand_in_modules() {
    return modules;
}

int cuInit(unsigned) {
    return 0;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}
int cuGetErrorString(int, const char** text) {
    *text = "an error of the stand-in";
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}
int cuDeviceGetName(char* name, int size, int) {
    std::strncpy(name, "stand-in GPU", static_cast<std::size_t>(size));
    return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 232448;
    return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{1} << 37;
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int*) {
    return 0;
}
int cuDevicePrimaryCtxRetain(void** out, int) {
    *out = &context;
    return 0;
}
int cuCtxGetCurrent(void** out) {
    *out = current;
    return 0;
}
int cuCtxSetCurrent(void* wanted) {
    current = wanted;
    return 0;
}
int cuCtxPushCurrent_v2(void* wanted) {
    current = wanted;
    return 0;
}
int cuCtxPopCurrent_v2(void** out) {
    *out = current;
    return 0;
}
int cuCtxGetDevice(int* device) {
    *device = 0;
    return current ? 0 : 201;
}
int cuModuleLoadData(void** module, const void*) {
    *module = std::malloc(1);
    ++modules;
    return 0;
}
int cuModuleUnload(void* module) {
    std::free(module);
    --modules;
    return 0;
}
int cuModuleGetFunction(void** function, void* module, const char*) {
    *function = module;
    return 0;
}
int cuFuncSetAttribute(void*, int, int) {
    return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
    *blocks = 1;
    return 0;
}
int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
    *clusters = 66;
    return 0;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    *address = reinterpret_cast<std::uint64_t>(std::malloc(bytes));
    return 0;
}
int cuMemFree_v2(std::uint64_t address) {
    std::free(reinterpret_cast<void*>(address));
    return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
}
int cuEventCreate(void** event, unsigned) {
    *event = std::malloc(1);
    return 0;
}
int cuEventDestroy_v2(void* event) {
    std::free(event);
    return 0;
}
int cuEventRecord(void*, void*) {
    return 0;
}
int cuEventSynchronize(void*) {
    return 0;
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
    *milliseconds = 1;
    return 0;
}
int cuLaunchKernelEx(const void*, void*, void** params, void**) {
    // What the caller packed is read before the call returns, as a real driver does.
    ++launches;
    return params[0] ? 0 : 1;
}
int cuTensorMapEncodeTiled(void* map, int, std::uint32_t, void*, const std::uint64_t*,
                           const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, int,
                           int, int, int) {
    std::memset(map, 1, 128);
    return 0;
}
int cuTensorMapEncodeIm2col(void* map, int, std::uint32_t, void*, const std::uint64_t*,
                            const std::uint64_t*, const int*, const int*, std::uint32_t,
                            std::uint32_t, const std::uint32_t*, int, int, int, int) {
    std::memset(map, 2, 128);
    return 0;
}
}
