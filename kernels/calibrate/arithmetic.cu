// Multiply-adds in fp32 outside the tensor cores, launches that do nothing, and a wait.
#include <cstdint>

// Bound as in streams.cu; `count` is the number of items, or of cycles to hold.
struct Streams {
    const float* from;
    float* to;
    int count;
};

// 2 * kChains * kSteps flops per item.
extern "C" __global__ void __launch_bounds__(256) multiply_add(Streams s) {
    constexpr int kChains = 16, kSteps = 512;
    const float factor = s.from[0], addend = s.from[1];
    float total = 0;
    for (int item = blockIdx.x * blockDim.x + threadIdx.x; item < s.count;
         item += gridDim.x * blockDim.x) {
        float sums[kChains];
#pragma unroll
        for (int c = 0; c < kChains; ++c) sums[c] = static_cast<float>(item + c);
#pragma unroll 8
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
            for (int c = 0; c < kChains; ++c) sums[c] = fmaf(sums[c], factor, addend);
        }
#pragma unroll
        for (int c = 0; c < kChains; ++c) total += sums[c];
    }
    // Never true, but the compiler cannot know that, so it keeps the sums.
    if (total == -1234.5f) s.to[0] = total;
}

extern "C" __global__ void nothing(Streams) {}

// Keeps the GPU's queue blocked for `count` cycles while the host fills it.
extern "C" __global__ void hold(Streams s) {
    const long long begin = clock64();
    while (clock64() - begin < s.count) __nanosleep(200);
}
