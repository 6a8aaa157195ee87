// Prepares the second operand of an f32 product for single_operands.cuh, whatever its layout. The
// result is [batch][K / 32][N] rows of 32 numbers in f16 parts, zero beyond K. Weights take these
// passes once, activations on every call.
#pragma once

#include "f16_parts.cuh"
#include "operand_source.cuh"

namespace fact::sm90 {

// The index of a row's block of 32 numbers among the prepared blocks.
template <int kBatches>
__device__ int64_t block_of(OperandSourceOf<kBatches> const& source, int batch, int n, int k) {
    int64_t const blocks = (source.k + 31) / 32;
    return (batch * blocks + k / 32) * source.n + n;
}

struct PreparedRows {
    half* rows;
    float* scales;  // laid out as in RowScalesOfB
    float* maxima;  // [K / 1024][batch][N]
};

inline constexpr int kPassTile = 64, kPassThreads = 256;
inline constexpr int kSpan = 256;          // along K, per thread block of prepare_pass
inline constexpr int kMaximumSpan = 1024;  // along K, per thread block of maximum_pass
inline constexpr int kThreadRows = kPassTile / (kPassThreads / (kPassTile / 4));

// A thread's i-th row of a tile; its four columns are the same in every row.
__device__ inline int row_of_thread(int i) {
    return static_cast<int>(threadIdx.x) / (kPassTile / 4) + i * (kPassTile / kThreadRows);
}

// The thread block's tile, one for all calls of visit_tile.
using SharedTile = float[kPassTile][kPassTile + 1];
__device__ inline SharedTile& shared_tile() {
    __shared__ SharedTile tile;
    return tile;
}

// Four neighbours of a row from k on, with zeros beyond `end`, where memory may hold anything.
__device__ inline float4 four_along_k(float const* row, int k, int end) {
    if (k >= end) return {};
    float4 x = *reinterpret_cast<float4 const*>(row + k);
    if (k + 1 >= end) x.y = 0.f;
    if (k + 2 >= end) x.z = 0.f;
    if (k + 3 >= end) x.w = 0.f;
    return x;
}

// Calls visit(i, k, x) for every four neighbours along K of a 64x64 tile, row row_of_thread(i):
// read along whichever dimension is contiguous, zero outside of the matrix.
template <int kBatches, class Visit>
__device__ void visit_tile(OperandSourceOf<kBatches> const& source, int batch, int n0, int k0,
                           Visit visit) {
    constexpr int kQuads = kPassTile / 4;
    auto& tile = shared_tile();
    float const* from = source.matrix(batch);
    bool const along_k = source.k_stride == 1;
    if (!along_k) {
        __syncthreads();  // the previous tile may still be read
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
        else if (n0 + n < source.n)
            x = four_along_k(from + (n0 + n) * source.n_stride, k0 + k, source.k);
        visit(i, k0 + k, x);
    }
}

// Calls body(batch, n0, k0) for every matrix; the thread block's tile in it begins at (n0, k0) and
// is `kDepth` long along K.
template <int kDepth, int kBatches, class Body>
__device__ void for_each_matrix(OperandSourceOf<kBatches> const& source, Body body) {
    for (int batch = blockIdx.z; batch < source.count(); batch += gridDim.z)
        body(batch, static_cast<int>(blockIdx.y) * kPassTile,
             static_cast<int>(blockIdx.x) * kDepth);
}

// Whether a warp can hold a whole row in its registers, and so read it only once.
template <int kBatches>
__device__ bool fits_a_warp(OperandSourceOf<kBatches> const& source) {
    return source.k_stride == 1 && source.k <= kMaximumSpan;
}

// Whether one thread block has whole rows and finds their maxima itself: it reads them twice, but
// the second time from a cache.
template <int kBatches>
__device__ bool fits_a_block(OperandSourceOf<kBatches> const& source) {
    return source.k <= kSpan;
}

__device__ inline float largest_of(float4 const& x) {
    return fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w)));
}

// The largest value of kLanes neighbouring lanes.
template <int kLanes>
__device__ float maximum_among(float value) {
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    return value;
}

// The largest magnitude of each of a thread's rows from `first` to `end`.
template <int kBatches>
__device__ void find_maxima(OperandSourceOf<kBatches> const& source, int batch, int n0, int first,
                            int end, float (&most)[kThreadRows]) {
#pragma unroll
    for (float& row : most) row = 0.f;
    for (int k0 = first; k0 < end; k0 += kPassTile)
        visit_tile(source, batch, n0, k0,
                   [&](int i, int, float4 const& x) { most[i] = fmaxf(most[i], largest_of(x)); });
#pragma unroll
    for (float& row : most) row = maximum_among<kPassTile / 4>(row);
}

// Finds the largest magnitude in each span of 1024 numbers of long rows; runs before prepare_pass.
template <int kBatches>
__device__ void maximum_pass(OperandSourceOf<kBatches> const& source, PreparedRows const& to) {
    if (fits_a_warp(source) || fits_a_block(source)) return;
    for_each_matrix<kMaximumSpan>(source, [&](int batch, int n0, int first) {
        float most[kThreadRows];
        find_maxima(source, batch, n0, first, min(first + kMaximumSpan, source.k), most);
#pragma unroll
        for (int i = 0; i < kThreadRows; ++i) {
            int const n = n0 + row_of_thread(i);
            if (threadIdx.x % (kPassTile / 4) == 0 && n < source.n)
                to.maxima[blockIdx.x * source.rows() + static_cast<int64_t>(batch) * source.n + n] =
                    most[i];
        }
    });
}

// The largest magnitudes of whole long rows, from the results of maximum_pass.
template <int kBatches>
__device__ void gather_maxima(OperandSourceOf<kBatches> const& source, PreparedRows const& to,
                              int batch, int n0, float (&most)[kThreadRows]) {
    constexpr int kGroups = kPassThreads / kPassTile;
    __shared__ float partial[kGroups][kPassTile];
    int const spans = (source.k + kMaximumSpan - 1) / kMaximumSpan;
    int const mine = threadIdx.x % kPassTile, group = threadIdx.x / kPassTile;
    float const* found = to.maxima + static_cast<int64_t>(batch) * source.n + n0 + mine;
    float largest = 0.f;
    if (n0 + mine < source.n)
        for (int span = group; span < spans; span += kGroups)
            largest = fmaxf(largest, found[span * source.rows()]);
    __syncthreads();  // `partial` of the previous matrix may still be read
    partial[group][mine] = largest;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
        most[i] = 0.f;
#pragma unroll
        for (int g = 0; g < kGroups; ++g) most[i] = fmaxf(most[i], partial[g][row_of_thread(i)]);
    }
}

// Writes four neighbours along K, the first at `k` of a block, to that block in f16 parts.
template <class Numbers>
__device__ void write_parts(half* block, int k, float4 const& x, float up) {
    auto const write = [&](int at_k, F16Parts const& parts) {
        half* at = block + Numbers::position(at_k);
        *reinterpret_cast<uint32_t*>(at) = parts.large;
        if constexpr (Numbers::kParts == 2) *reinterpret_cast<uint32_t*>(at + 32) = parts.small;
    };
    write(k, F16Parts::of(x.x * up, x.y * up));
    write(k + 2, F16Parts::of(x.z * up, x.w * up));
}

template <int kBatches>
__device__ void write_scale(OperandSourceOf<kBatches> const& source, PreparedRows const& to,
                            int batch, int n, float down) {
    to.scales[batch * RowScalesOfB::pitch(source.n) + n] = down;
}

// For rows that fit a warp. The thread blocks along K of one tile would each read all its rows;
// they divide the rows among themselves instead.
template <class Numbers, int kBatches>
__device__ void prepare_by_warps(OperandSourceOf<kBatches> const& source, PreparedRows const& to,
                                 int batch, int n0, int end) {
    constexpr int kWarps = kPassThreads / 32, kQuads = kMaximumSpan / 128;
    constexpr int kBlock = 32 * Numbers::kParts;
    int const lane = threadIdx.x % 32;
    int const first = n0 + blockIdx.x * kWarps + threadIdx.x / 32;
    for (int n = first; n < min(n0 + kPassTile, source.n); n += gridDim.x * kWarps) {
        float const* from = source.matrix(batch) + n * source.n_stride;
        float4 x[kQuads];
        float most = 0.f;
#pragma unroll
        for (int i = 0; i < kQuads; ++i) x[i] = four_along_k(from, i * 128 + lane * 4, source.k);
#pragma unroll
        for (float4 const& four : x) most = fmaxf(most, largest_of(four));
        PowerOfTwo const scale = PowerOfTwo::to_f16_range(maximum_among<32>(most));
        if (lane == 0) write_scale(source, to, batch, n, scale.down);
        half* block = to.rows + block_of(source, batch, n, lane * 4) * kBlock;
#pragma unroll
        for (int i = 0; i < kQuads; ++i) {
            if (i * 128 + lane * 4 < end)
                write_parts<Numbers>(block, lane * 4 % 32, x[i], scale.up);
            block += source.n * int64_t{4 * kBlock};
        }
    }
}

// For rows of which each thread block prepares a span.
template <class Numbers, int kBatches>
__device__ void prepare_by_blocks(OperandSourceOf<kBatches> const& source, PreparedRows const& to,
                                  int batch, int n0, int first, int end) {
    float most[kThreadRows];
    if (fits_a_block(source))
        find_maxima(source, batch, n0, 0, source.k, most);
    else
        gather_maxima(source, to, batch, n0, most);
    float up[kThreadRows];
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
        int const n = n0 + row_of_thread(i);
        PowerOfTwo const scale = PowerOfTwo::to_f16_range(most[i]);
        up[i] = scale.up;
        if (first == 0 && threadIdx.x % (kPassTile / 4) == 0 && n < source.n)
            write_scale(source, to, batch, n, scale.down);
    }
    for (int k0 = first; k0 < min(first + kSpan, end); k0 += kPassTile)
        visit_tile(source, batch, n0, k0, [&](int i, int k, float4 const& x) {
            int const n = n0 + row_of_thread(i);
            if (n >= source.n || k >= end) return;
            half* block = to.rows + block_of(source, batch, n, k) * (32 * Numbers::kParts);
            write_parts<Numbers>(block, k % 32, x, up[i]);
        });
}

// Writes the f16 parts of every number, scaled by the largest of its row.
template <class Numbers, int kBatches>
__device__ void prepare_pass(OperandSourceOf<kBatches> const& source, PreparedRows const& to) {
    int const end = (source.k + 31) / 32 * 32;
    for_each_matrix<kSpan>(source, [&](int batch, int n0, int first) {
        if (!fits_a_block(source) && fits_a_warp(source))
            prepare_by_warps<Numbers>(source, to, batch, n0, end);
        else
            prepare_by_blocks<Numbers>(source, to, batch, n0, first, end);
    });
}

}  // namespace fact::sm90
