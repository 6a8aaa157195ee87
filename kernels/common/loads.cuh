// Loads that say how memory is used. They are plain ones, never ld.global.nc or __ldg: the kernel
// before may still write what is read when this one starts (previous.cuh), so it is not read-only.
// Such a load could find what was there before, and the assembler moves it above the wait.
#pragma once

#include <cstdint>

namespace fact {

// kWords neighbouring words in one access, which need not stay in the L1: they are read once.
// Volatile: the load is wanted where it is written, long before its use.
template <int kWords>
__device__ inline void load_words(uint32_t (&to)[kWords], void const* from) {
    static_assert(kWords == 1 || kWords == 2 || kWords == 4);
    if constexpr (kWords == 4)
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "l"(from)
                     : "memory");
    else if constexpr (kWords == 2)
        asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "l"(from)
                     : "memory");
    else
        asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];"
                     : "=r"(to[0])
                     : "l"(from)
                     : "memory");
}

// The same of what every row reads, which the L1 keeps. The load does not need the row, but naming
// it lets the compiler merge loads of one row and not those of several: held across rows they would
// take the registers that the row itself needs. It also keeps the load behind the wait, before
// which the row is not known (VectorRow::each).
template <int kWords>
__device__ inline void load_words(uint32_t (&to)[kWords], void const* from, int row) {
    static_assert(kWords == 1 || kWords == 2 || kWords == 4);
    if constexpr (kWords == 4)
        asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
            : "l"(from), "r"(row));
    else if constexpr (kWords == 2)
        asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from), "r"(row));
    else
        asm("ld.global.u32 %0, [%1];" : "=r"(to[0]) : "l"(from), "r"(row));
}

// What is shorter than a word, and lies where no word can be read; both ways.
template <int kBytes>
__device__ inline uint32_t load_piece(void const* from) {
    static_assert(kBytes == 1 || kBytes == 2);
    uint32_t piece;
    if constexpr (kBytes == 2)
        asm volatile("ld.global.u16 %0, [%1];" : "=r"(piece) : "l"(from) : "memory");
    else
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(piece) : "l"(from) : "memory");
    return piece;
}
template <int kBytes>
__device__ inline uint32_t load_piece(void const* from, int row) {
    static_assert(kBytes == 1 || kBytes == 2);
    uint32_t piece;
    if constexpr (kBytes == 2)
        asm("ld.global.u16 %0, [%1];" : "=r"(piece) : "l"(from), "r"(row));
    else
        asm("ld.global.u8 %0, [%1];" : "=r"(piece) : "l"(from), "r"(row));
    return piece;
}

// kBytes in accesses of kAccess bytes; `row` as load_words takes it, or nothing.
template <int kAccess, int kBytes, int kWords, class... Row>
__device__ inline void load_bytes(uint32_t (&to)[kWords], void const* from, Row... row) {
    auto const* const bytes = static_cast<char const*>(from);
    if constexpr (kAccess >= 4) {
#pragma unroll
        for (int w = 0; w < kWords; w += kAccess / 4)
            load_words(reinterpret_cast<uint32_t(&)[kAccess / 4]>(to[w]), bytes + w * 4, row...);
    } else {
#pragma unroll
        for (int w = 0; w < kWords; ++w) to[w] = 0;
#pragma unroll
        for (int b = 0; b < kBytes; b += kAccess)
            to[b / 4] |= load_piece<kAccess>(bytes + b, row...) << b % 4 * 8;
    }
}

__device__ inline float4 as_floats(uint32_t const (&bits)[4]) {
    return {__uint_as_float(bits[0]), __uint_as_float(bits[1]), __uint_as_float(bits[2]),
            __uint_as_float(bits[3])};
}

// 16 bytes that other multiprocessors have written: from where they all meet, the L2.
__device__ inline void load_from_l2(uint32_t (&to)[4], void const* from) {
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(from)
                 : "memory");
}

}  // namespace fact
