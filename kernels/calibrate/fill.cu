// Random operands: equal or zero bits would let the tensor cores draw less power than real data.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

template <class Number>
struct Fill {
    Number* to;
    int count;
};

// Uniform in [-1, 1).
__device__ inline float random_number(std::uint32_t index) {
    std::uint32_t bits = index * 0x9e3779b9u + 0x7f4a7c15u;
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    bits ^= bits >> 16;
    return static_cast<float>(bits >> 8) * (2.0f / (1 << 24)) - 1.0f;
}

template <class Number>
__device__ inline void fill(Fill<Number> f) {
    for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < f.count;
         i += std::int64_t(gridDim.x) * blockDim.x)
        f.to[i] = static_cast<Number>(random_number(static_cast<std::uint32_t>(i)));
}

extern "C" __global__ void fill_f32(Fill<float> f) {
    fill(f);
}
extern "C" __global__ void fill_bf16(Fill<__nv_bfloat16> f) {
    fill(f);
}
extern "C" __global__ void fill_f16(Fill<half> f) {
    fill(f);
}
