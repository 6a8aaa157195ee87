// From accumulators to memory: applies the functor to every value and stores straight from
// registers.
#pragma once

#include "../common/operands.cuh"
#include "../common/tiles.cuh"

namespace fact::sm80 {

// Where results are stored. kPaired: neighbouring columns are contiguous and every pair is aligned
// (the launch record requires it), so that one store writes both.
template <class T, bool kPaired, int kBatches>
struct Destination {
    T* data;
    int64_t row_stride, column_stride, batch_strides[kBatches];

    __device__ void store(SlabOf<kBatches> const& slab, float const (&values)[kSlabValues]) const {
        T* const base = data + batch_offset(slab.batch, batch_strides);
#pragma unroll
        for (int i = 0; i < kSlabValues; i += 2) {
            int const row = slab.row_of(i), column = slab.column_of(i);
            if (row >= slab.extents.m || column >= slab.extents.n) continue;
            T* const to = base + row * row_stride + column * (kPaired ? 1 : column_stride);
            T const left = narrow<T>(values[i]), right = narrow<T>(values[i + 1]);
            if constexpr (kPaired) {
                *reinterpret_cast<Pair<T>*>(to) = Pair<T>::of(left, right);
            } else {
                *to = left;
                if (column + 1 < slab.extents.n) to[column_stride] = right;
            }
        }
    }
};

template <class T, int kBatches = 2>
using Output = Destination<T, true, kBatches>;
template <class T, int kBatches = 2>
using StridedOutput = Destination<T, false, kBatches>;

// Runs the epilogue on a warp's sums, rows from `row` and columns from `column`, slab by slab.
// Nothing is fetched ahead: the sums leave no registers for it, and other warps compute meanwhile.
template <class Functor, class To, int kBatches, int kRowGroups, int kCount>
__device__ void finish(Functor const& functor, To const& to, ExtentsOf<kBatches> const& extents,
                       TileAt<kBatches> const& at, int row, int column,
                       float const (&sums)[kRowGroups][kCount]) {
    constexpr int kSlabs = kCount / kSlabValues;  // side by side
    static_assert(kCount % kSlabValues == 0);
    int const lane = threadIdx.x % 32;
    auto const slab = [&](int i) {
        return SlabOf<kBatches>{row + i / kSlabs * 16 + lane / 4,
                                column + i % kSlabs * kSlabColumns + 2 * (lane % 4), at.batch,
                                extents};
    };
#pragma unroll
    for (int i = 0; i < kRowGroups * kSlabs; ++i) {
        SlabOf<kBatches> const here = slab(i);
        auto const now = functor.fetch(here);
        float values[kSlabValues];
#pragma unroll
        for (int v = 0; v < kSlabValues; ++v)
            values[v] = functor(sums[i / kSlabs][i % kSlabs * kSlabValues + v], now, here, v);
        to.store(here, values);
    }
}

}  // namespace fact::sm80
