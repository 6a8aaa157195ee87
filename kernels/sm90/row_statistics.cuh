// Statistics of the rows of a product's first operand, for its epilogue: computed by warps that
// have nothing else to do while the first tiles are multiplied. An epilogue waits for the rows it
// needs. Warps take the next rows as they get free, and the first thread block that starts resets
// the counts: no block waits for one that has not started, so kernels that share the GPU cannot
// deadlock.
#pragma once

#include <cstdint>

#include "../common/loads.cuh"
#include "../common/operands.cuh"
#include "../common/tiles.cuh"

namespace fact::sm90 {

// `Values` computes the statistics from the sum of a row's terms, or (kCentered) from the row's sum
// and the sum of its squared distances from the mean.
template <class Element, class Values, int kBatches = 2>
struct RowStatistics {
    static constexpr bool kAny = true;
    static constexpr int kRows = 4;    // rows that a warp takes at a time
    static constexpr int kAhead = 6;   // vectors of a row that a lane loads at once
    static constexpr int kBlock = 16;  // rows that an epilogue waits for
    static constexpr int kComputingWarps = 3, kWaitingWarps = 8;  // per thread block

    Element const* rows;
    int64_t row_stride, batch_strides[kBatches];
    float* values[Values::kCount];  // of all rows, one matrix of the batch after another
    // The last warp resets the tokens, so that replays of a CUDA graph start clean.
    struct Counts {
        unsigned long long first;  // the launch's token once a first thread block has started
        unsigned long long token;  // the launch's token once that block has reset all counts
        unsigned taken, computed;  // rows
        unsigned done;             // warps
    }* counts;
    static_assert(sizeof(Counts) == 32);  // the launch record has room for four words
    unsigned* computed;                   // how many rows of each block of kBlock are computed
    uint64_t token;

    // Run by the warps of the producer group that do not load.
    __device__ void compute(ExtentsOf<kBatches> const& extents) const {
        int const lane = threadIdx.x % 32;
        int const blocks = blocks_of(extents), all = blocks * matrices(extents) * kBlock;
        if (threadIdx.x / 32 == 1 && is_first(lane)) reset_counts(all / kBlock, lane);
        wait_for_counts();
        for (;;) {
            int taken = 0;
            if (lane == 0) taken = static_cast<int>(atomicAdd(&counts->taken, kRows));
            taken = __shfl_sync(~0u, taken, 0);
            if (taken >= all) break;
            compute(taken / (blocks * kBlock), taken % (blocks * kBlock), extents, lane);
            __syncwarp();
            if (lane == 0) {
                __threadfence();
                atomicAdd(computed + taken / kBlock, kRows);
                __threadfence();
                atomicAdd(&counts->computed, kRows);
            }
        }
        leave(lane);
    }

    // Waits for the values of the kBlock rows around `row`. Returns whether those of all rows are
    // there: then the caller need not wait again, which takes a microsecond.
    __device__ bool wait_for(int const (&batch)[kBatches], int row,
                             ExtentsOf<kBatches> const& extents) const {
        wait_for_counts();
        int const blocks = blocks_of(extents);
        if (loaded(&counts->computed) >= blocks * matrices(extents) * kBlock) return true;
        int matrix = batch[0];
#pragma unroll
        for (int i = 1; i < kBatches; ++i) matrix = matrix * extents.batch[i] + batch[i];
        if (row < extents.m)
            while (loaded(computed + matrix * blocks + row / kBlock) < kBlock) {
            }
        return false;
    }

    // Every warp that computes or waits calls this once, at its end.
    __device__ void leave(int lane) const {
        wait_for_counts();  // until they are reset, nothing can be added
        __syncwarp();
        if (lane != 0) return;
        __threadfence();
        if (atomicAdd(&counts->done, 1) + 1 == gridDim.x * (kComputingWarps + kWaitingWarps))
            counts->token = counts->first = 0;
    }

  private:
    __device__ static int blocks_of(ExtentsOf<kBatches> const& extents) {
        return (extents.m + kBlock - 1) / kBlock;
    }
    __device__ static int matrices(ExtentsOf<kBatches> const& extents) {
        int count = 1;
#pragma unroll
        for (int i = 0; i < kBatches; ++i) count *= extents.batch[i];
        return count;
    }

    // Whether the warp's thread block is the first to call this.
    __device__ bool is_first(int lane) const {
        int first = 0;
        if (lane == 0) first = atomicExch(&counts->first, token) != token;
        return __shfl_sync(~0u, first, 0) != 0;
    }

    __device__ void reset_counts(int blocks, int lane) const {
        for (int i = lane; i < blocks; i += 32) computed[i] = 0;
        if (lane == 0) counts->taken = counts->computed = counts->done = 0;
        __threadfence();
        __syncwarp();
        if (lane == 0)
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(&counts->token), "l"(token)
                         : "memory");
    }

    __device__ void wait_for_counts() const {
        uint64_t seen;
        do {
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                         : "=l"(seen)
                         : "l"(&counts->token)
                         : "memory");
        } while (seen != token);
    }

    __device__ static int loaded(unsigned const* count) {
        unsigned seen;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
        return static_cast<int>(seen);
    }

    __device__ void compute(int matrix, int first_row, ExtentsOf<kBatches> const& extents,
                            int lane) const {
        int at[kBatches];
        find_in_batch(matrix, extents.batch, at);
        Element const* const start = rows + batch_offset(at, batch_strides);
        for (int row = first_row; row < min(first_row + kRows, extents.m); ++row)
            compute_row(start + row * row_stride, matrix * extents.m + row, extents.k, lane);
    }

    // A row is whole vectors of 16 bytes.
    __device__ void compute_row(Element const* first, int row, int k, int lane) const {
        constexpr int kVector = 16 / sizeof(Element);
        uint4 const* from = reinterpret_cast<uint4 const*>(first) + lane;
        // Distances from the mean are computed by way of distances from a number near it, the mean
        // of a few elements: a single element may be an outlier, and the squares would lose bits.
        float const near =
            Values::kCentered ? over_warp(widen(first[min(lane * kVector, k - 1)])) / 32 : 0.f;
        float sum = 0, squares = 0;
        int left = k / kVector - lane;  // vectors of the row from the lane's next one on
        for (; left > 0; left -= kAhead * 32, from += kAhead * 32) {
            uint32_t vectors[kAhead][4];
#pragma unroll
            for (int a = 0; a < kAhead; ++a)
                if (left > a * 32) load_from_l2(vectors[a], from + a * 32);
#pragma unroll
            for (int a = 0; a < kAhead; ++a)
                if (left > a * 32) add(vectors[a], near, sum, squares);
        }
        sum = over_warp(sum);
        if constexpr (Values::kCentered) squares = over_warp(squares);
        if (lane != 0) return;
        if constexpr (Values::kCentered) {
            float const centered = squares - sum * (sum / k);
            Values::store(values, row, sum + near * k, centered < 0 ? 0.f : centered, k);
        } else {
            Values::store(values, row, sum, k);
        }
    }

    __device__ static void add(uint32_t const (&vector)[4], float near, float& sum,
                               float& squares) {
#pragma unroll
        for (uint32_t const word : vector)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float const x = Pair<Element>{word}.at(i);
                if constexpr (Values::kCentered) {
                    sum += x - near;
                    squares += (x - near) * (x - near);
                } else {
                    sum += Values::term(x);
                }
            }
    }

    __device__ static float over_warp(float sum) {
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
        return sum;
    }
};

}  // namespace fact::sm90
