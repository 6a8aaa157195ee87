// An operand of the epilogue that TMA brings through shared memory.
#pragma once

#include "../common/operands.cuh"

namespace fact::sm90 {

// A matrix of the output's element type that TMA brings into the box its result will leave from:
// whole lines of memory, asked for a slab ahead.
template <class T>
struct StagedMatrix {
    using Fetched = typename Operand<T, true, true, true>::Fetched;

    // A lane's pairs out of a box of 16 rows by 128 bytes, swizzled; groups from `first` on.
    __device__ static void read(Fetched& fetched, unsigned char const* box, int lane, int first) {
        constexpr int kGroups = 16 / sizeof(T);  // eight columns each
        constexpr int kChunk = 16 / sizeof(T);   // elements in a 16-byte chunk
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                int const row = lane / 4 + 8 * h, column = g * 8 + 2 * (lane % 4);
                int const chunk = (column / kChunk) ^ (row & 7);
                fetched.values[first + g][h] = *reinterpret_cast<Pair<T> const*>(
                    box + row * 128 + chunk * 16 + column % kChunk * sizeof(T));
            }
    }
};

}  // namespace fact::sm90
