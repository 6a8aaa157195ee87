// Running sums and products along rows: each element with all before it. The rows are shared as in
// rows.cuh; `value(at)` is an element, and `store(at, running)` writes what is computed from it.
#pragma once

#include "rows.cuh"

namespace fact {

struct Product {
    template <class T>
    __device__ static T identity() {
        return 1;
    }
    template <class T>
    __device__ static T combine(T a, T b) {
        return a * b;
    }
};

// The running value over the lanes of a warp.
template <class Op, class T>
__device__ T scan_lanes(T x) {
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T const before = __shfl_up_sync(0xffffffff, x, step);
        if (lane >= step) x = Op::combine(before, x);
    }
    return x;
}

// All warps take a step along the row together; each has a part of the step, read line by line.
struct BlockScan : BlockRow {
    static constexpr int kWarps = kRowThreads / 32;
    static constexpr int kLines = 8;  // of 32 elements, loaded before any is added up

    template <class Op, class Value, class Store>
    __device__ static void scan(int64_t count, Value value, Store store) {
        using T = decltype(value(0));
        __shared__ T totals[kWarps];
        int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        T before = Op::template identity<T>();  // of all steps before
        for (int64_t first = 0; first < count; first += kRowThreads * kLines) {
            int64_t const mine = first + warp * 32 * kLines + lane;
            int const last = last_of_step<32 * kLines>(mine, count);
            T running[kLines];
#pragma unroll
            for (int i = 0; i < kLines; ++i) {
                T const x = value(mine + min(i * 32, last));
                running[i] = i * 32 <= last ? x : Op::template identity<T>();
            }
            T total = Op::template identity<T>();
#pragma unroll
            for (int i = 0; i < kLines; ++i) {
                running[i] = Op::combine(total, scan_lanes<Op>(running[i]));
                total = __shfl_sync(0xffffffff, running[i], 31);
            }
            __syncthreads();  // the totals of the previous step have been read
            if (lane == 0) totals[warp] = total;
            __syncthreads();
            T part = before;  // of all before this warp's part
#pragma unroll
            for (int other = 0; other < kWarps; ++other) {
                if (other == warp) part = before;
                before = Op::combine(before, totals[other]);
            }
#pragma unroll
            for (int i = 0; i < kLines; ++i)
                if (i * 32 <= last) store(mine + i * 32, Op::combine(part, running[i]));
        }
    }
};

// Each lane takes a row; the warps have parts of a step, one element after another.
struct ColumnScan : ColumnRow {
    static constexpr int kElements = 16;  // of a warp in a step, loaded before any is added up

    template <class Op, class Value, class Store>
    __device__ static void scan(int64_t count, Value value, Store store) {
        using T = decltype(value(0));
        __shared__ T totals[kWarps][32];
        int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        T before = Op::template identity<T>();  // of all steps before
        for (int64_t first = 0; first < count; first += kWarps * kElements) {
            int64_t const mine = first + warp * kElements;
            int const last = last_of_step<kElements>(mine, count);
            T running[kElements];
#pragma unroll
            for (int i = 0; i < kElements; ++i) {
                T const x = value(mine + min(i, last));
                running[i] = i <= last ? x : Op::template identity<T>();
            }
#pragma unroll
            for (int i = 1; i < kElements; ++i)
                running[i] = Op::combine(running[i - 1], running[i]);
            __syncthreads();  // the totals of the previous step have been read
            totals[warp][lane] = running[kElements - 1];
            __syncthreads();
            T part = before;  // of all before this warp's part
#pragma unroll
            for (int other = 0; other < kWarps; ++other) {
                if (other == warp) part = before;
                before = Op::combine(before, totals[other][lane]);
            }
#pragma unroll
            for (int i = 0; i < kElements; ++i)
                if (i <= last) store(mine + i, Op::combine(part, running[i]));
        }
    }
};

struct ThreadScan : ThreadRow {
    static constexpr int kElements = 8;  // loaded before any is stored

    template <class Op, class Value, class Store>
    __device__ static void scan(int64_t count, Value value, Store store) {
        using T = decltype(value(0));
        T running = Op::template identity<T>();
        for (int64_t first = 0; first < count; first += kElements) {
            int const last = last_of_step<kElements>(first, count);
            T x[kElements];
#pragma unroll
            for (int i = 0; i < kElements; ++i) x[i] = value(first + min(i, last));
#pragma unroll
            for (int i = 0; i < kElements; ++i)
                if (i <= last) {
                    running = Op::combine(running, x[i]);
                    store(first + i, running);
                }
        }
    }
};

}  // namespace fact
