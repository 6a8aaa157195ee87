// Results whose neighbours in memory are of several rows: stored from a box one by one, where the
// emitted `Places` says.
#pragma once

#include <cstdint>

#include "../common/problem.cuh"

namespace fact::sm90 {

inline constexpr int kBoxRows = 16, kBoxRowBytes = 128;

// An element of a box in TMA's swizzle.
template <class T>
__device__ T const& in_box(unsigned char const* box, int row, int column) {
    int const at = column * static_cast<int>(sizeof(T));
    return *reinterpret_cast<T const*>(box + row * kBoxRowBytes + (at ^ (row & 7) * 16));
}

// A warp stores the box whose first element is at `row` and `column`. Of each group of
// Places::kRowsTogether rows, neighbouring lanes store the elements of one column, then those of
// the next, which are neighbours in memory; so lanes divide their columns only once.
template <class T, class Places, int kBatches>
__device__ void scatter(unsigned char const* box, Places const& places, int row, int column,
                        int const (&batch)[kBatches], ExtentsOf<kBatches> const& extents,
                        int lane) {
    constexpr int kColumns = kBoxRowBytes / static_cast<int>(sizeof(T));
    constexpr int kTogether = Places::kRowsTogether, kGroups = kBoxRows / kTogether;
    static_assert(kGroups * kTogether == kBoxRows);
    int const r = lane % kTogether;
#pragma unroll
    for (int i = 0; i < kColumns * kTogether / 32; ++i) {
        int const c = (lane + 32 * i) / kTogether;
        if (column + c >= extents.n) continue;
        auto const along = places.column(column + c);
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
            int const from = g * kTogether + r;
            if (row + from >= extents.m) break;
            if (T* to = places.at(places.row(row + from, batch), along))
                *to = in_box<T>(box, from, c);
        }
    }
}

}  // namespace fact::sm90
