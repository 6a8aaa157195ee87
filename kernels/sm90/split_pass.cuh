// Prepares the second operand of an f32 product: TF32 planes [parts][batch][N][K], contiguous
// along K whatever the source's layout. Weights take this pass once, activations on every call.
#pragma once

#include "mainloop_split.cuh"

namespace fact::sm90 {

struct SplitSource {
    float const* data;
    int64_t n_stride, k_stride, batch0_stride, batch1_stride;
    float* planes;
    int n, k, batch0, batch1;
};

inline constexpr int kSplitTile = 32, kSplitThreads = 256;

// One block a 32x32 tile: read along whichever dimension is contiguous, written along K.
template <int kParts>
__device__ void split_pass(SplitSource const& source) {
    __shared__ float tile[kSplitTile][kSplitTile + 1];
    int const n0 = blockIdx.y * kSplitTile, k0 = blockIdx.x * kSplitTile;
    int const batch = blockIdx.z;
    float const* from = source.data + batch / source.batch1 * source.batch0_stride +
                        batch % source.batch1 * source.batch1_stride;
    bool const along_k = source.k_stride == 1;
    for (int i = threadIdx.x; i < kSplitTile * kSplitTile; i += kSplitThreads) {
        int const fast = i % kSplitTile, slow = i / kSplitTile;
        int const n = along_k ? slow : fast, k = along_k ? fast : slow;
        if (n0 + n < source.n && k0 + k < source.k)
            tile[n][k] = from[(n0 + n) * source.n_stride + (k0 + k) * source.k_stride];
    }
    __syncthreads();
    int64_t const plane =
        static_cast<int64_t>(source.batch0) * source.batch1 * source.n * source.k;
    for (int i = threadIdx.x; i < kSplitTile * kSplitTile; i += kSplitThreads) {
        int const k = i % kSplitTile, n = i / kSplitTile;
        if (n0 + n >= source.n || k0 + k >= source.k) continue;
        int64_t const to = (static_cast<int64_t>(batch) * source.n + n0 + n) * source.k + k0 + k;
        float const x = tile[n][k];
        uint32_t const large = to_tf32(x);
        source.planes[to] = __uint_as_float(large);
        if constexpr (kParts == 2)
            source.planes[plane + to] =
                __uint_as_float(to_tf32(x - __uint_as_float(large)));
    }
}

}  // namespace fact::sm90
