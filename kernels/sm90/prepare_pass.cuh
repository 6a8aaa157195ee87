// Prepares the second operand of an f32 product for mainloop_single.cuh, whatever its layout:
// [batch][K / 32][N] rows of 128 bytes, zero beyond K. Weights take this pass once, activations on
// every call.
#pragma once

#include "../common/operands.cuh"
#include "../common/tiles.cuh"
#include "single_numbers.cuh"

namespace fact::sm90 {

template <int kBatches>
struct OperandSourceOf {
    float const* data;
    int64_t n_stride, k_stride, batch_strides[kBatches];
    int n, k, batch[kBatches];  // of the operand itself: one where it lacks a dimension

    __device__ int count() const {
        int all = 1;
#pragma unroll
        for (int i = 0; i < kBatches; ++i) all *= batch[i];
        return all;
    }
    __device__ int64_t rows() const { return static_cast<int64_t>(count()) * n; }
    // Where the 128 bytes of a row's block lie, counted in such.
    __device__ int64_t block(int at_batch, int at_n, int at_k) const {
        int64_t const blocks = (k + 31) / 32;
        return (at_batch * blocks + at_k / 32) * n + at_n;
    }
};
using OperandSource = OperandSourceOf<2>;

struct RoundedRows {
    float* rows;
};
struct SplitRows {
    half* rows;
    float* scales;  // [batch][N]: what undoes a row's scale
    float* maxima;  // [K / 1024][batch][N]
};

inline constexpr int kPassTile = 64, kPassThreads = 256;
inline constexpr int kSpan = 256;          // along K, that a block prepares
inline constexpr int kMaximumSpan = 1024;  // and that it finds a maximum of
inline constexpr int kThreadRows = kPassTile / (kPassThreads / (kPassTile / 4));

// The row of a tile that a thread meets as its i-th, always at the same four columns.
__device__ inline int row_of_thread(int i) {
    return static_cast<int>(threadIdx.x) / (kPassTile / 4) + i * (kPassTile / kThreadRows);
}

// Calls visit(i, k, x) for every four neighbours along K of a 64x64 tile, row row_of_thread(i):
// read along whichever dimension is contiguous, zero outside of the matrix.
template <int kBatches, class Visit>
__device__ void visit_tile(OperandSourceOf<kBatches> const& source, int batch, int n0, int k0,
                           Visit visit) {
    constexpr int kQuads = kPassTile / 4;
    __shared__ float tile[kPassTile][kPassTile + 1];
    int at_batch[kBatches];
    find_in_batch(batch, source.batch, at_batch);
    float const* from = source.data + batch_offset(at_batch, source.batch_strides);
    bool const along_k = source.k_stride == 1;
    if (!along_k) {
        __syncthreads();  // the tile before may still be read
#pragma unroll
        for (int i = threadIdx.x; i < kPassTile * kQuads; i += kPassThreads) {
            int const n = i % kQuads * 4, k = i / kQuads;
            float4 x{};
            if (k0 + k < source.k) {
                float const* at = from + (k0 + k) * source.k_stride + n0 + n;
                if (n0 + n + 3 < source.n) {
                    x = *reinterpret_cast<float4 const*>(at);
                } else {
                    if (n0 + n < source.n) x.x = at[0];
                    if (n0 + n + 1 < source.n) x.y = at[1];
                    if (n0 + n + 2 < source.n) x.z = at[2];
                }
            }
            tile[n][k] = x.x, tile[n + 1][k] = x.y, tile[n + 2][k] = x.z, tile[n + 3][k] = x.w;
        }
        __syncthreads();
    }
    int const k = threadIdx.x % kQuads * 4;
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
        int const n = row_of_thread(i);
        float4 x{};
        if (!along_k)
            x = make_float4(tile[n][k], tile[n][k + 1], tile[n][k + 2], tile[n][k + 3]);
        else if (n0 + n < source.n && k0 + k < source.k)
            x = *reinterpret_cast<float4 const*>(from + (n0 + n) * source.n_stride + k0 + k);
        visit(i, k0 + k, x);
    }
}

// The matrices and tiles of a block, of `kDepth` along K: body(batch, n0, k0).
template <int kDepth, int kBatches, class Body>
__device__ void for_each_matrix(OperandSourceOf<kBatches> const& source, Body body) {
    for (int batch = blockIdx.z; batch < source.count(); batch += gridDim.z)
        body(batch, static_cast<int>(blockIdx.y) * kPassTile,
             static_cast<int>(blockIdx.x) * kDepth);
}

// Every number rounded to TF32.
template <int kBatches>
__device__ void round_pass(OperandSourceOf<kBatches> const& source, RoundedRows const& to) {
    int const end = (source.k + 31) / 32 * 32;
    for_each_matrix<kSpan>(source, [&](int batch, int n0, int first) {
        for (int k0 = first; k0 < min(first + kSpan, end); k0 += kPassTile)
            visit_tile(source, batch, n0, k0, [&](int i, int k, float4 const& x) {
                int const n = n0 + row_of_thread(i);
                if (n >= source.n || k >= end) return;
                auto const rounded = [](float value) { return __uint_as_float(to_tf32(value)); };
                *reinterpret_cast<float4*>(to.rows + source.block(batch, n, k) * 32 + k % 32) =
                    make_float4(rounded(x.x), rounded(x.y), rounded(x.z), rounded(x.w));
            });
    });
}

// The largest magnitude in each row's span of 1024, before split_pass.
template <int kBatches>
__device__ void maximum_pass(OperandSourceOf<kBatches> const& source, SplitRows const& to) {
    for_each_matrix<kMaximumSpan>(source, [&](int batch, int n0, int first) {
        float most[kThreadRows] = {};
        for (int k0 = first; k0 < min(first + kMaximumSpan, source.k); k0 += kPassTile)
            visit_tile(source, batch, n0, k0, [&](int i, int, float4 const& x) {
                most[i] = fmaxf(
                    most[i], fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
            });
#pragma unroll
        for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
            for (int lanes = kPassTile / 8; lanes > 0; lanes /= 2)
                most[i] = fmaxf(most[i], __shfl_xor_sync(0xffffffff, most[i], lanes));
            int const n = n0 + row_of_thread(i);
            if (threadIdx.x % (kPassTile / 4) == 0 && n < source.n)
                to.maxima[blockIdx.x * source.rows() + static_cast<int64_t>(batch) * source.n + n] =
                    most[i];
        }
    });
}

// Every number in two f16 parts, scaled by what maximum_pass found of its row.
template <class Numbers, int kBatches>
__device__ void split_pass(OperandSourceOf<kBatches> const& source, SplitRows const& to) {
    constexpr int kGroups = kPassThreads / kPassTile;
    __shared__ float partial[kGroups][kPassTile];
    int const end = (source.k + 31) / 32 * 32;
    int const spans = (source.k + kMaximumSpan - 1) / kMaximumSpan;
    for_each_matrix<kSpan>(source, [&](int batch, int n0, int first) {
        int64_t const row0 = static_cast<int64_t>(batch) * source.n + n0;
        int const mine = threadIdx.x % kPassTile, group = threadIdx.x / kPassTile;
        float most = 0.f;
        if (n0 + mine < source.n)
            for (int span = group; span < spans; span += kGroups)
                most = fmaxf(most, to.maxima[span * source.rows() + row0 + mine]);
        __syncthreads();  // the matrix before may still be read
        partial[group][mine] = most;
        __syncthreads();
        float up[kThreadRows];
#pragma unroll
        for (int i = 0; i < kThreadRows; ++i) {
            float row_most = 0.f;
            int const n = row_of_thread(i);
#pragma unroll
            for (int g = 0; g < kGroups; ++g) row_most = fmaxf(row_most, partial[g][n]);
            PowerOfTwo const scale = PowerOfTwo::to_f16_range(row_most);
            up[i] = scale.up;
            if (first == 0 && threadIdx.x % (kPassTile / 4) == 0 && n0 + n < source.n)
                to.scales[row0 + n] = scale.down;
        }
        for (int k0 = first; k0 < min(first + kSpan, end); k0 += kPassTile)
            visit_tile(source, batch, n0, k0, [&](int i, int k, float4 const& x) {
                int const n = n0 + row_of_thread(i);
                if (n >= source.n || k >= end) return;
                half* row = to.rows + source.block(batch, n, k) * 64;
                auto const write = [&](int at_k, F16Parts const& parts) {
                    half* at = row + Numbers::position(at_k % 32);
                    *reinterpret_cast<uint32_t*>(at) = parts.large;
                    *reinterpret_cast<uint32_t*>(at + 32) = parts.small;
                };
                write(k, F16Parts::of(x.x * up[i], x.y * up[i]));
                write(k + 2, F16Parts::of(x.z * up[i], x.w * up[i]));
            });
    });
}

}  // namespace fact::sm90
