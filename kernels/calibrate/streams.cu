// The rates of memory and L2: 16 bytes per access of a thread, several in flight.
#include <cstdint>

// Offsets and size as src/calibrate/probes.cpp binds them.
struct Streams {
    const uint4* from;
    uint4* to;
    int count;  // of items of 16 bytes
};

constexpr int kInFlight = 8;

__device__ inline std::uint32_t mixed(uint4 value) {
    return value.x ^ value.y ^ value.z ^ value.w;
}

// Calls visit(base); a thread then accesses base + i * blockDim.x for all i below kInFlight. These
// are below `count`, which is a multiple of what a thread block takes at a time.
template <class Visit>
__device__ inline void in_groups(std::int64_t count, Visit visit) {
    const int group = blockDim.x * kInFlight;
    for (std::int64_t base = std::int64_t(blockIdx.x) * group + threadIdx.x; base < count;
         base += std::int64_t(gridDim.x) * group)
        visit(base);
}

extern "C" __global__ void __launch_bounds__(256) read_stream(Streams s) {
    std::uint32_t all = 0;
    in_groups(s.count, [&](std::int64_t base) {
        uint4 values[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) values[i] = __ldcs(s.from + base + i * blockDim.x);
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) all ^= mixed(values[i]);
    });
    // Never true, but the compiler cannot know that, so it keeps the loads.
    if (all == 0x5bd1e995u) s.to[0].x = all;
}

extern "C" __global__ void __launch_bounds__(256) write_stream(Streams s) {
    in_groups(s.count, [&](std::int64_t base) {
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) {
            const auto at = static_cast<std::uint32_t>(base + i * blockDim.x);
            __stcs(s.to + at, make_uint4(at, at, at, at));
        }
    });
}

extern "C" __global__ void __launch_bounds__(256) copy_stream(Streams s) {
    in_groups(s.count, [&](std::int64_t base) {
        uint4 values[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) values[i] = __ldcs(s.from + base + i * blockDim.x);
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) __stcs(s.to + base + i * blockDim.x, values[i]);
    });
}

// Reads the same few megabytes again and again, bypassing L1, each round from other
// multiprocessors. `count` is a power of two.
extern "C" __global__ void __launch_bounds__(256) read_l2(Streams s) {
    constexpr int kRounds = 64;
    std::uint32_t all = 0;
    in_groups(std::int64_t(s.count) * kRounds, [&](std::int64_t base) {
        uint4 values[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i)
            values[i] = __ldcg(s.from + ((base + i * blockDim.x) & (s.count - 1)));
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) all += mixed(values[i]);
    });
    if (all == 0x5bd1e995u) s.to[0].x = all;
}
