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
// the next, which are neighbours in memory. Taking rows and columns apart is most of the work, so a
// lane does it once for each: of rows and columns, the fewer are taken apart first.
template <class T, class Places, int kBatches>
__device__ void scatter(unsigned char const* box, Places const& places, int row, int column,
                        int const (&batch)[kBatches], ExtentsOf<kBatches> const& extents,
                        int lane) {
    constexpr int kColumns = kBoxRowBytes / static_cast<int>(sizeof(T));
    constexpr int kTogether = Places::kRowsTogether, kGroups = kBoxRows / kTogether;
    constexpr int kSteps = kColumns * kTogether / 32;
    static_assert(kGroups * kTogether == kBoxRows);
    using Part = typename Places::Part;
    // Without a sign, divisions by constants take fewer instructions.
    __builtin_assume(row >= 0);
    __builtin_assume(column >= 0);
    __builtin_assume(lane >= 0);
    auto const row_of = [&](int group) { return group * kTogether + lane % kTogether; };
    auto const column_of = [&](int step) { return (lane + 32 * step) / kTogether; };
    auto const store = [&](Part const& down, Part const& along, int group, int step) {
        if (T* to = places.at(down, along)) *to = in_box<T>(box, row_of(group), column_of(step));
    };
    if constexpr (kGroups <= 2) {
        Part rows[kGroups];
#pragma unroll
        for (int g = 0; g < kGroups; ++g) rows[g] = places.row(row + row_of(g), batch);
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
            if (column + column_of(i) >= extents.n) continue;  // fewer instructions than break
            Part const along = places.column(column + column_of(i));
#pragma unroll
            for (int g = 0; g < kGroups; ++g)
                if (row + row_of(g) < extents.m) store(rows[g], along, g, i);
        }
    } else {
        Part columns[kSteps];
#pragma unroll
        for (int i = 0; i < kSteps; ++i) columns[i] = places.column(column + column_of(i));
#pragma unroll 4
        for (int g = 0; g < kGroups; ++g) {
            if (row + row_of(g) >= extents.m) break;
            Part const down = places.row(row + row_of(g), batch);
#pragma unroll
            for (int i = 0; i < kSteps; ++i)
                if (column + column_of(i) < extents.n) store(down, columns[i], g, i);
        }
    }
}

}  // namespace fact::sm90
