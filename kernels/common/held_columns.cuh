// Rows whose neighbours in memory are of other rows, such as the channels of images that are
// channels last: a cluster of thread blocks holds 32 of them in registers, so that each is read
// once. A lane has one row's elements, of which warps and blocks take one each in turn.
#pragma once

#include "cluster.cuh"
#include "rows.cuh"

namespace fact {

// The elements of a row, `stride` apart.
template <class T>
struct SpacedRow {
    T* first;
    int64_t stride;

    __device__ T& operator[](int place) const { return first[place * stride]; }
};
template <class T>
__device__ inline SpacedRow<T> spaced_row(T* first, int64_t stride) {
    return {first, stride};
}

// How rows of kLength elements are computed, by kWarps warps of each of kBlocks thread blocks.
template <int kLength, int kWarps, int kBlocks>
struct HeldColumns {
    static constexpr int kLanes = 32, kBlock = kLanes * kWarps;
    static constexpr int kShares = kWarps * kBlocks;
    static constexpr int kHeld = (kLength + kShares - 1) / kShares;  // elements per thread

    __device__ static int lane() { return threadIdx.x % kLanes; }
    __device__ static int share() { return rank_in_cluster() * kWarps + threadIdx.x / kLanes; }
    __device__ static int place(int i) { return i * kShares + share(); }
    // Whether this thread has an i-th element.
    __device__ static bool has(int i) { return (i + 1) * kShares <= kLength || place(i) < kLength; }

    // A thread's elements of one tensor's row.
    template <class T>
    struct Share {
        T held[kHeld];

        template <int, class... Number>
        __device__ void load(SpacedRow<T const> row, Number...) {
#pragma unroll
            for (int i = 0; i < kHeld; ++i)
                if (has(i)) held[i] = row[place(i)];
        }
        __device__ auto operator[](int i) const { return widen(held[i]); }
    };

    // Calls body(row, inputs) for this thread's row, with its Inputs loaded; lanes beyond the last
    // row repeat it.
    template <class Inputs, class Arguments, class Body>
    __device__ static void each(Arguments const& args, int rows, Body body) {
        int const row = static_cast<int>(blockIdx.x / kBlocks) * kLanes + lane();
        compute_in_cluster<Inputs>(args, ::min(row, rows - 1), body);
    }

    // Values along the row, computed once.
    template <class T>
    struct Values {
        T held[kHeld];
        __device__ T operator[](int i) const { return held[i]; }
    };
    template <class Value>
    __device__ static auto values(Value value) {
        Values<decltype(value(0))> all;
#pragma unroll
        for (int i = 0; i < kHeld; ++i)
            if (has(i)) all.held[i] = value(i);
        return all;
    }

    // The same value in every thread of the row, added up in the same order every time.
    template <class Op, class Value>
    __device__ static auto reduce(Value value) {
        using T = decltype(value(0));
        // Each reduction has shared memory of its own, which it uses once.
        alignas(16) __shared__ T of_warps[kWarps][kLanes], of_blocks[kBlocks][kLanes];
        T mine = Op::template identity<T>();
#pragma unroll
        for (int i = 0; i < kHeld; ++i)
            if (has(i)) mine = Op::combine(mine, value(i));
        of_warps[threadIdx.x / kLanes][lane()] = mine;
        __syncthreads();
        T all = of_warps[0][lane()];
#pragma unroll
        for (int warp = 1; warp < kWarps; ++warp) all = Op::combine(all, of_warps[warp][lane()]);
        if constexpr (kBlocks > 1) {
            for (int block = threadIdx.x / kLanes; block < kBlocks; block += kWarps)
                store_in_block(&of_blocks[rank_in_cluster()][lane()], all, block);
            arrive_at_cluster();
            wait_for_cluster();
            all = of_blocks[0][lane()];
#pragma unroll
            for (int block = 1; block < kBlocks; ++block)
                all = Op::combine(all, of_blocks[block][lane()]);
        }
        return all;
    }

    // Writes value(i) for the elements of this thread. All are computed before the first is
    // written: the compiler does not move loads above a store.
    template <int, class T, class Value>
    __device__ static void store(SpacedRow<T> row, Value value) {
        T items[kHeld];
#pragma unroll
        for (int i = 0; i < kHeld; ++i)
            if (has(i)) items[i] = narrow<T>(value(i));
#pragma unroll
        for (int i = 0; i < kHeld; ++i)
            if (has(i)) row[place(i)] = items[i];
    }

    // Writes something once per row.
    template <class Write>
    __device__ static void once(Write write) {
        if (share() == 0) write();
    }
};

}  // namespace fact
