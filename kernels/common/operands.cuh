// What the epilogue reads besides the accumulator: matrices, rows, columns and scalars of any type,
// fetched a slab ahead of their use so that they arrive while the previous slab is computed.
#pragma once

#include <cstdint>

#include "numbers.cuh"
#include "problem.cuh"

namespace fact {

inline constexpr int kSlabColumns = 32;  // a slab is a warp's 16 rows by 32 columns
inline constexpr int kSlabValues = 16;   // per lane

// Where a lane's values of one slab are. Value i is in column group i / 4, row half (i % 4) / 2,
// and is the left or right of a pair by i % 2: the order of the accumulator.
template <int kBatches>
struct SlabOf {
    int row, column;  // of value 0
    int const (&batch)[kBatches];
    ExtentsOf<kBatches> const& extents;

    __device__ int row_of(int i) const { return row + 8 * ((i % 4) / 2); }
    __device__ int column_of(int i) const { return column + 8 * (i / 4) + i % 2; }
};
using Slab = SlabOf<2>;

// The row's columns form pairs of neighbouring groups of kColumns that change places. Returns
// which of a lane's values is at the same position in the other group.
template <int kColumns>
__device__ constexpr int flipped(int value) {
    static_assert(kColumns == 1 || kColumns % 8 == 0);
    if constexpr (kColumns == 1) return value ^ 1;
    constexpr int kValues = kColumns / 8 * 4;  // of a lane in kColumns columns, both row halves
    return value / kValues % 2 == 0 ? value + kValues : value - kValues;
}

// The offset of one matrix of the batch in a tensor; a dimension the tensor lacks has stride 0.
template <int kBatches>
__device__ int64_t batch_offset(int const (&at)[kBatches], int64_t const (&strides)[kBatches]) {
    int64_t offset = at[0] * strides[0];
#pragma unroll
    for (int i = 1; i < kBatches; ++i) offset += at[i] * strides[i];
    return offset;
}

// Two neighbours in a row.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
    T left, right;
    __device__ static Pair of(T left, T right) { return {left, right}; }
    __device__ auto at(int i) const { return widen(i ? right : left); }
};
// 16-bit floats stay in the word they were loaded in, and are widened out of it.
template <>
struct Pair<bf16> {
    uint32_t word;
    __device__ static Pair of(bf16 left, bf16 right) {
        return {__bfloat16_as_ushort(left) | uint32_t{__bfloat16_as_ushort(right)} << 16};
    }
    __device__ float at(int i) const { return __uint_as_float(i ? word & 0xffff0000 : word << 16); }
};
template <>
struct Pair<half> {
    uint32_t word;
    __device__ static Pair of(half left, half right) {
        return {__half_as_ushort(left) | uint32_t{__half_as_ushort(right)} << 16};
    }
    __device__ float at(int i) const {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(i ? word >> 16 : word)));
    }
};

// Two bytes, loaded and kept as one word.
template <>
struct Pair<bool> {
    uint16_t word;
    __device__ static Pair of(bool left, bool right) {
        return {static_cast<uint16_t>(left | right << 8)};
    }
    __device__ bool at(int i) const { return (i ? word >> 8 : word & 0xff) != 0; }
};

// An operand that varies along M if kRows, along N if kColumns. kPaired: neighbouring columns are
// contiguous and every pair is aligned (the launch record requires it), so that one load reads
// both.
template <class T, bool kRows, bool kColumns, bool kPaired, int kBatches = 2>
struct Operand {
    T const* data;
    int64_t row_stride, column_stride, batch_strides[kBatches];

    static constexpr int kGroups = kColumns ? kSlabColumns / 8 : 1, kHalves = kRows ? 2 : 1;
    struct Fetched {
        Pair<T> values[kGroups][kHalves];

        __device__ auto at(int i) const {
            Pair<T> const& pair = values[kColumns ? i / 4 : 0][kRows ? (i % 4) / 2 : 0];
            return pair.at(kColumns ? i % 2 : 0);
        }
    };

    __device__ Fetched fetch(SlabOf<kBatches> const& slab) const {
        return fetch_from<true>(slab, slab.column);
    }

  protected:
    // For rows beyond the last, the last row is read: their results are not stored, so it does not
    // matter if the last row's statistics are not computed yet. kChecked: the operand may end
    // within the slab's columns.
    template <bool kChecked>
    __device__ Fetched fetch_from(SlabOf<kBatches> const& slab, int column) const {
        Fetched fetched;
        T const* base = data + batch_offset(slab.batch, batch_strides);
#pragma unroll
        for (int h = 0; h < kHalves; ++h) {
            int const row = min(slab.row + 8 * h, slab.extents.m - 1);
            T const* start = kRows ? base + row * row_stride : base;
#pragma unroll
            for (int g = 0; g < kGroups; ++g)
                fetched.values[g][h] = load<kChecked>(start, column + 8 * g, slab.extents.n);
        }
        return fetched;
    }

  private:
    template <bool kChecked>
    __device__ Pair<T> load(T const* row, int column, int columns) const {
        Pair<T> pair{};
        bool const left_is_there = !kChecked || column < columns;
        bool const right_is_there = !kChecked || column + 1 < columns;
        if constexpr (!kColumns) {
            pair = Pair<T>::of(*row, T{});
        } else if constexpr (kPaired) {
            if (left_is_there) pair = *reinterpret_cast<Pair<T> const*>(row + column);
        } else {
            T const left = left_is_there ? row[column * column_stride] : T{};
            T const right = right_is_there ? row[(column + 1) * column_stride] : T{};
            pair = Pair<T>::of(left, right);
        }
        return pair;
    }
};

template <class T, int kBatches = 2>
using Matrix = Operand<T, true, true, true, kBatches>;
template <class T, int kBatches = 2>
using StridedMatrix = Operand<T, true, true, false, kBatches>;
template <class T, int kBatches = 2>
using Row = Operand<T, false, true, true, kBatches>;  // one value per column, for all rows
template <class T, int kBatches = 2>
using StridedRow = Operand<T, false, true, false, kBatches>;
template <class T, int kBatches = 2>
using Column = Operand<T, true, false, false, kBatches>;
template <class T, int kBatches = 2>
using Scalar = Operand<T, false, false, false, kBatches>;

// An operand whose columns repeat with a period of kPeriod, for example once per head. Memory holds
// a single period of it, and a slab never spans two.
template <class Whole, int kPeriod>
struct Repeated : Whole {
    static_assert(kPeriod % kSlabColumns == 0);

    template <int kBatches>
    __device__ typename Whole::Fetched fetch(SlabOf<kBatches> const& slab) const {
        return Whole::template fetch_from<false>(slab, slab.column % kPeriod);
    }
};

}  // namespace fact
