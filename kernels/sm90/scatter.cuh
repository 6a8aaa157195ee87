// Results that no box of a tensor map holds, because neighbours in memory are of several rows, or
// rows are no multiple of 16 bytes: stored from a box where the emitted `Places` says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../common/problem.cuh"

namespace fact::sm90 {

inline constexpr int kBoxRows = 16, kBoxRowBytes = 128;

// Where an element of a box is in TMA's swizzle, in bytes.
template <class T>
__device__ int place_in_box(int row, int column) {
    return row * kBoxRowBytes + (column * static_cast<int>(sizeof(T)) ^ (row & 7) * 16);
}

// Whether a coordinate is neither below 0 nor beyond the extent.
__device__ inline bool within(int at, int extent) {
    return static_cast<unsigned>(at) < static_cast<unsigned>(extent);
}

// Neighbours in memory that one instruction stores: the bits of each.
template <class Bits, int kCount>
struct alignas(kCount * sizeof(Bits)) Neighbours {
    Bits values[kCount];
};

// Stores them if `wanted`, without a branch: one around each store would keep stores from
// overlapping. The kernel never reads them again, so no other access waits for these.
template <class Bits, int kCount>
__device__ void store_if(bool wanted, void* to, Neighbours<Bits, kCount> const& what) {
#ifdef __CUDA_ARCH__
    constexpr int kBytes = static_cast<int>(sizeof(what));
    std::size_t const at = __cvta_generic_to_global(to);
    int const is_wanted = wanted;
    if constexpr (kBytes == 2) {
        asm volatile(
            "{.reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.b16 [%1], %2;}" ::"r"(is_wanted),
            "l"(at), "h"(what.values[0]));
        return;
    }
    uint32_t words[4];  // the last ones only if there are as many
#pragma unroll
    for (int i = 0; i < kBytes / 4; ++i) {
        words[i] = what.values[i * kCount * 4 / kBytes];
        if constexpr (sizeof(Bits) == 2)
            words[i] |= static_cast<uint32_t>(what.values[2 * i + 1]) << 16;
    }
    if constexpr (kBytes == 4)
        asm volatile(
            "{.reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.b32 [%1], %2;}" ::"r"(is_wanted),
            "l"(at), "r"(words[0]));
    if constexpr (kBytes == 8)
        asm volatile(
            "{.reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.v2.b32 [%1], {%2, %3};}" ::"r"(
                is_wanted),
            "l"(at), "r"(words[0]), "r"(words[1]));
    if constexpr (kBytes == 16)
        asm volatile(
            "{.reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.v4.b32 [%1], {%2, %3, %4, %5};}" ::
                "r"(is_wanted),
            "l"(at), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]));
#else
    if (wanted) *static_cast<Neighbours<Bits, kCount>*>(to) = what;
#endif
}

// A lane's elements of a box. Of each group of Places::kRowsTogether rows, neighbouring lanes store
// the elements of one column, then those of the next, which are neighbours in memory. If one store
// takes Places::kStoredTogether rows of a column, fewer lanes share it.
template <class T, class Places>
struct LaneOfBox {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
    static_assert(sizeof(T) == sizeof(Bits));
    static constexpr int kTogether = Places::kRowsTogether, kStored = Places::kStoredTogether;
    static constexpr int kSharing = kTogether / kStored;  // lanes that share a column
    static constexpr int kColumns = 32 / kSharing;        // of neighbouring lanes
    static constexpr int kGroups = kBoxRows / kTogether;
    static constexpr int kSteps = kBoxRowBytes / static_cast<int>(sizeof(T)) / kColumns;
    static_assert(kGroups * kTogether == kBoxRows && kSharing * kStored == kTogether);

    int row, column;  // the lane's first ones in the box
    int place;        // of that element, in bytes

    __device__ explicit LaneOfBox(int lane)
        : row(lane % kSharing * kStored),
          column(lane / kSharing),
          place(place_in_box<T>(row, column)) {}

    __device__ Neighbours<Bits, kStored> load(unsigned char const* box, int group, int step) const {
        Neighbours<Bits, kStored> found;
        int const right = step * kColumns * static_cast<int>(sizeof(T));
#pragma unroll
        for (int i = 0; i < kStored; ++i) {
            // None of the bits that lanes differ in. All but the swizzled ones can be added, by the
            // load itself, so that a lane computes at most 8 addresses.
            int const down = group * kTogether + i;
            int const swizzled = down % 8 * 16 ^ right / 16 * 16;
            int const at = (place ^ swizzled) + (down * kBoxRowBytes + right % 16);
            found.values[i] = *reinterpret_cast<Bits const*>(box + at);
        }
        return found;
    }
};

// Has the compiler compute a value anew for each box: kept from one to the next, what follows from
// it would take registers that the sums need.
template <class T>
__device__ void forget([[maybe_unused]] T& value) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 8)
        asm volatile("" : "+l"(value));
    else
        asm volatile("" : "+r"(value));
#endif
}

// A warp stores the box whose first element is at `row`, a multiple of kBoxRows, and `column`.
// Taking rows and columns apart is most of the work. A lane does it once for all rows if
// Places::kRowsAdd, that is, if row(a + b) is row(a) + row(b) for each b of a box that begins with
// a; likewise for all columns if Places::kColumnsAdd. Else it does it once for each row and column,
// of which the fewer come first.
template <class T, class Places, int kBatches>
__device__ void scatter(unsigned char const* box, Places const& places, int row, int column,
                        int const (&batch)[kBatches], ExtentsOf<kBatches> const& extents,
                        int lane) {
    using Lane = LaneOfBox<T, Places>;
    using Part = typename Places::Part;
    constexpr int kGroups = Lane::kGroups, kSteps = Lane::kSteps;
    forget(lane);
    if constexpr (kGroups > 2 && !Places::kRowsAdd) forget(row);
    // Without a sign, divisions by constants take fewer instructions.
    __builtin_assume(row >= 0);
    __builtin_assume(column >= 0);
    __builtin_assume(lane >= 0);
    Lane const first(lane);
    row += first.row, column += first.column;
    int const rows_left = extents.m - row, columns_left = extents.n - column;
    auto const row_of = [&](int group) { return places.row(row + group * Lane::kTogether, batch); };
    auto const column_of = [&](int step) { return places.column(column + step * Lane::kColumns); };
    // What a group of rows, or a step of columns, adds to the place of the first.
    auto const down = [&](int group) {
        int const none[kBatches] = {};
        return places.row(group * Lane::kTogether, none);
    };
    auto const along = [&](int step) { return places.column(step * Lane::kColumns); };
    auto const store = [&](bool wanted, Part const& at, T* to, int group, int step) {
        wanted = wanted && step * Lane::kColumns < columns_left && places.holds(at);
        store_if(wanted, to, first.load(box, group, step));
    };
    if constexpr (kGroups < kSteps) {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
            Part const here = row_of(g);
            bool const wanted = g * Lane::kTogether < rows_left && here.offset >= 0;
            Part at = here + column_of(0);
            T* to = places.data + at.offset;
#pragma unroll
            for (int i = 0; i < kSteps; ++i) {
                store(wanted, at, to, g, i);
                if constexpr (Places::kColumnsAdd) {
                    at = here + column_of(0) + along(i + 1);
                    to += along(i + 1).offset - along(i).offset;
                    forget(to);
                } else {
                    at = here + column_of(i + 1);
                    to = places.data + at.offset;
                }
            }
        }
    } else {
        Part columns[kSteps];
        T* to[kSteps];
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
            columns[i] = column_of(i);
            if constexpr (Places::kRowsAdd) columns[i] = columns[i] + row_of(0);
            to[i] = places.data + columns[i].offset;
        }
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
            Part const here = Places::kRowsAdd ? down(g) : row_of(g);
            bool const wanted =
                g * Lane::kTogether < rows_left && (Places::kRowsAdd || here.offset >= 0);
#pragma unroll
            for (int i = 0; i < kSteps; ++i) {
                if constexpr (Places::kRowsAdd) {
                    store(wanted, columns[i] + here, to[i], g, i);
                    to[i] += down(g + 1).offset - down(g).offset;
                    forget(to[i]);
                } else {
                    store(wanted, columns[i] + here, to[i] + here.offset, g, i);
                }
            }
        }
    }
}

}  // namespace fact::sm90
