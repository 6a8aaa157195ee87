// An operand of the epilogue that TMA loads to shared memory.
#pragma once

#include "../common/operands.cuh"

namespace fact::sm90 {

// A matrix of the output's element type that TMA loads into the box from which the result will be
// stored: whole lines of memory, requested a slab ahead.
template <class T>
struct StagedMatrix {
    using Fetched = typename Operand<T, true, true, true>::Fetched;

    // Reads a lane's pairs of a slab from a box of 16 rows by 128 bytes, swizzled; `first` is the
    // slab's first group of eight columns in the box.
    __device__ static void read(Fetched& fetched, unsigned char const* box, int lane, int first) {
        if constexpr (sizeof(T) == 2) {
#pragma unroll
            for (int g = 0; g < kSlabColumns / 8; g += 2) {
                int const row = (lane & 7) + ((lane >> 3) & 1) * 8, chunk = first + g + (lane >> 4);
                unsigned char const* from = box + row * 128 + ((chunk ^ (row & 7)) * 16);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(fetched.values[g][0].word), "=r"(fetched.values[g][1].word),
                               "=r"(fetched.values[g + 1][0].word),
                               "=r"(fetched.values[g + 1][1].word)
                             : "r"(cute::cast_smem_ptr_to_uint(from))
                             : "memory");
            }
        } else {
#pragma unroll
            for (int g = 0; g < kSlabColumns / 8; ++g)
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    int const row = lane / 4 + 8 * h, chunk = g * 2 + (lane % 4) / 2;
                    fetched.values[g][h] = *reinterpret_cast<Pair<T> const*>(
                        box + row * 128 + ((chunk ^ (row & 7)) * 16) + lane % 2 * 8);
                }
        }
    }
};

}  // namespace fact::sm90
