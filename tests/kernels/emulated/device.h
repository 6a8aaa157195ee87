// A block of threads on the host: what skeletons for mma.sync need of CUDA. Threads take turns in a
// random order, so that a missing barrier shows, and copies arrive at once or as late as they may.
#pragma once

#include <cstdint>
#include <functional>

namespace emulated {

// Runs `thread` as every thread of every block of the grid, one block after another.
struct Launch {
    int grid = 1, threads = 128;  // in x; y and z stay as the caller has set them
    bool late_copies = false;
    unsigned seed = 1;
};
void run(const Launch& launch, const std::function<void()>& thread);

// Memory that copies may read; a copy from elsewhere is counted.
void allow(const void* data, std::size_t bytes);
int copies_outside();

// Every thread of the block has come this far. Barriers that some threads never came to, because
// they had ended, are counted.
void meet_block();
int missed_barriers();

// What all lanes of the warp give, by lane. It holds until the next exchange but one.
constexpr int kMostWords = 8;
struct Words {
    std::uint64_t of[kMostWords];
};
const Words* exchange(const Words& own);

// cp.async: the thread's copies since the last group.
void begin_copy(void* to, const void* from, std::size_t bytes, bool inside);
void end_copies();
void wait_copies(int pending);

struct Index {
    unsigned x, y = 0, z = 0;
};

}  // namespace emulated

extern emulated::Index threadIdx, blockIdx, gridDim;

#define __device__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

inline void __syncthreads() {
    emulated::meet_block();
}
namespace emulated {
inline float of_lane(float x, unsigned lane) {
    Words own{};
    own.of[0] = reinterpret_cast<const std::uint32_t&>(x);
    const auto bits = static_cast<std::uint32_t>(exchange(own)[lane].of[0]);
    return reinterpret_cast<const float&>(bits);
}
}  // namespace emulated
inline float __shfl_xor_sync(unsigned, float x, int mask) {
    return emulated::of_lane(x, threadIdx.x % 32 ^ static_cast<unsigned>(mask));
}
inline float __shfl_sync(unsigned, float x, int lane) {
    return emulated::of_lane(x, static_cast<unsigned>(lane));
}
inline float __shfl_up_sync(unsigned, float x, int by) {
    const unsigned lane = threadIdx.x % 32;
    return emulated::of_lane(x, lane < static_cast<unsigned>(by) ? lane : lane - by);
}
inline bool __any_sync(unsigned, bool x) {
    const emulated::Words* const all = emulated::exchange({{x}});
    bool any = false;
    for (int lane = 0; lane < 32; ++lane) any = any || all[lane].of[0] != 0;
    return any;
}
