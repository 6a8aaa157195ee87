// Statistics of the rows of a product's first operand, for its epilogue: found by warps that have
// nothing else to do while the first tiles are multiplied. An epilogue waits for the rows it
// finishes. Rows go to whoever asks first, so that nobody waits for a block that has not started:
// kernels that share the GPU cannot wait for each other.
#pragma once

#include <cstdint>

#include "../common/operands.cuh"

namespace fact::sm90 {

// Of a product whose epilogue reads none.
struct NoStatistics {
    static constexpr bool kAny = false;
};

// `Values` makes numbers of the sum of a row's terms, or of the row's sum and its squared distances
// from the mean.
template <class Element, class Values>
struct RowStatistics {
    static constexpr bool kAny = true;
    static constexpr int kRows = 4;                   // that a warp takes at a time
    static constexpr int kBlock = 16;                 // that an epilogue waits for
    static constexpr int kFinders = 3, kReaders = 8;  // warps of a block

    Element const* rows;
    int64_t row_stride;
    float* values[Values::kCount];
    // Set by the first block: the launch's own token once all is zero, rows that are taken, and
    // warps that are done. The last of these wipes the token: a graph's replays start clean.
    struct Counts {
        uint64_t token;
        unsigned taken, left;
    }* counts;
    unsigned* found;  // of every kBlock rows
    uint64_t token;

    // What the other warps of the producer's group do.
    __device__ void find(int m, int k) const {
        int const lane = threadIdx.x % 32;
        if (blockIdx.x == 0 && threadIdx.x / 32 == 1) begin(m, lane);
        wait_for_counts();
        for (;;) {
            int row = 0;
            if (lane == 0) row = static_cast<int>(atomicAdd(&counts->taken, kRows));
            row = __shfl_sync(~0u, row, 0);
            if (row >= m) break;
            find(row, m, k, lane);
            __syncwarp();
            if (lane == 0) {
                __threadfence();
                atomicAdd(found + row / kBlock, kRows);
            }
        }
        leave(lane);
    }

    // Until the values of kBlock rows are there.
    __device__ void wait_for(int row, int m) const {
        if (row >= m) return;
        wait_for_counts();
        unsigned const all = min(kBlock, (m - row + kRows - 1) / kRows * kRows);
        unsigned seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(seen)
                         : "l"(found + row / kBlock)
                         : "memory");
        } while (seen != all);
    }

    // Every warp that finds or waits comes here once.
    __device__ void leave(int lane) const {
        __syncwarp();
        if (lane != 0) return;
        __threadfence();
        if (atomicAdd(&counts->left, 1) + 1 == gridDim.x * (kFinders + kReaders)) counts->token = 0;
    }

  private:
    __device__ void begin(int m, int lane) const {
        for (int i = lane; i * kBlock < m; i += 32) found[i] = 0;
        if (lane == 0) counts->taken = counts->left = 0;
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

    // Those of kRows rows, which are whole vectors of 16 bytes.
    __device__ void find(int row, int m, int k, int lane) const {
        constexpr int kVector = 16 / sizeof(Element);
        Element const* from[kRows];
        // Distances from the mean are sums of those from a number of the row: they are not much
        // longer, wherever the row lies.
        float near[kRows], sums[kRows] = {}, squares[kRows] = {};
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            from[r] = rows + min(row + r, m - 1) * row_stride;
            near[r] = Values::kCentered ? widen(*from[r]) : 0.f;
        }
        for (int column = lane * kVector; column < k; column += 32 * kVector) {
            uint4 loaded[kRows];
#pragma unroll
            for (int r = 0; r < kRows; ++r)
                loaded[r] = __ldcg(reinterpret_cast<uint4 const*>(from[r] + column));
#pragma unroll
            for (int r = 0; r < kRows; ++r)
                for (uint32_t const word : {loaded[r].x, loaded[r].y, loaded[r].z, loaded[r].w})
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float const x = Pair<Element>{word}.at(i);
                        if constexpr (Values::kCentered) {
                            sums[r] += x - near[r];
                            squares[r] += (x - near[r]) * (x - near[r]);
                        } else {
                            sums[r] += Values::term(x);
                        }
                    }
        }
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            float const sum = over_warp(sums[r]);
            float const square = Values::kCentered ? over_warp(squares[r]) : 0.f;
            if (lane != r || row + r >= m) continue;
            if constexpr (Values::kCentered)
                Values::store(values, row + r, sum + near[r] * k,
                              fmaxf(square - sum * (sum / k), 0.f), k);
            else
                Values::store(values, row + r, sum, k);
        }
    }

    __device__ static float over_warp(float sum) {
        for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        return sum;
    }
};

}  // namespace fact::sm90
