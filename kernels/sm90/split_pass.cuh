// Prepares the second operand of an f32 product: TF32 planes [parts][batch][N][K], contiguous
// along K whatever the source's layout. Weights take this pass once, activations on every call.
#pragma once

#include "../common/operands.cuh"
#include "mainloop_split.cuh"

namespace fact::sm90 {

template <int kBatches>
struct SplitSourceOf {
    float const* data;
    int64_t n_stride, k_stride, batch_strides[kBatches];
    float* planes;
    int n, k, batch[kBatches];  // of the operand itself: one where it lacks a dimension

    __device__ int count() const {
        int all = 1;
#pragma unroll
        for (int i = 0; i < kBatches; ++i) all *= batch[i];
        return all;
    }
};
using SplitSource = SplitSourceOf<2>;

inline constexpr int kSplitTile = 64, kSplitThreads = 256;

// Four neighbours along K of both planes; K is a multiple of four.
template <int kParts, int kBatches>
__device__ void write_split(SplitSourceOf<kBatches> const& source, int64_t to,
                            float const (&x)[4]) {
    float large[4], small[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        large[i] = __uint_as_float(to_tf32(x[i]));
        small[i] = __uint_as_float(to_tf32(x[i] - large[i]));
    }
    int64_t const plane = static_cast<int64_t>(source.count()) * source.n * source.k;
    *reinterpret_cast<float4*>(source.planes + to) =
        make_float4(large[0], large[1], large[2], large[3]);
    if constexpr (kParts == 2)
        *reinterpret_cast<float4*>(source.planes + plane + to) =
            make_float4(small[0], small[1], small[2], small[3]);
}

// One 64x64 tile of a matrix: read along whichever dimension is contiguous, written along K.
template <int kParts, int kBatches>
__device__ void split_tile(SplitSourceOf<kBatches> const& source, int batch) {
    constexpr int kQuads = kSplitTile / 4;
    __shared__ float tile[kSplitTile][kSplitTile + 1];
    int const n0 = blockIdx.y * kSplitTile, k0 = blockIdx.x * kSplitTile;
    int at_batch[kBatches];
    find_in_batch(batch, source.batch, at_batch);
    float const* from = source.data + batch_offset(at_batch, source.batch_strides);
    int64_t const row0 = static_cast<int64_t>(batch) * source.n;
    bool const along_k = source.k_stride == 1;
    if (!along_k) {
#pragma unroll
        for (int i = threadIdx.x; i < kSplitTile * kQuads; i += kSplitThreads) {
            int const n = i % kQuads * 4, k = i / kQuads;
            if (k0 + k >= source.k) continue;
            float const* at = from + (k0 + k) * source.k_stride + n0 + n;
            if (n0 + n + 3 < source.n) {
                float4 const x = *reinterpret_cast<float4 const*>(at);
                tile[n][k] = x.x, tile[n + 1][k] = x.y, tile[n + 2][k] = x.z, tile[n + 3][k] = x.w;
            } else {
                for (int j = 0; n0 + n + j < source.n; ++j) tile[n + j][k] = at[j];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = threadIdx.x; i < kSplitTile * kQuads; i += kSplitThreads) {
        int const k = i % kQuads * 4, n = i / kQuads;
        if (n0 + n >= source.n || k0 + k >= source.k) continue;
        float x[4];
        if (along_k) {
            float4 const quad =
                *reinterpret_cast<float4 const*>(from + (n0 + n) * source.n_stride + k0 + k);
            x[0] = quad.x, x[1] = quad.y, x[2] = quad.z, x[3] = quad.w;
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) x[j] = tile[n][k + j];
        }
        write_split<kParts>(source, (row0 + n0 + n) * source.k + k0 + k, x);
    }
}

// One block a tile, in every so-many-th matrix.
template <int kParts, int kBatches>
__device__ void split_pass(SplitSourceOf<kBatches> const& source) {
    for (int batch = blockIdx.z; batch < source.count(); batch += gridDim.z) {
        split_tile<kParts>(source, batch);
        __syncthreads();  // before the next one overwrites the tile in shared memory
    }
}

}  // namespace fact::sm90
