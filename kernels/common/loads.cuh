// Loads with cache hints. None is ld.global.nc or __ldg: the previous kernel may still write what
// is read when this one starts (previous.cuh), so that memory is not read-only. A read-only load
// could return stale values, and the assembler moves it above the wait.
#pragma once

#include <cstdint>

namespace fact {

// Loads kWords neighbouring words in one access, not kept in L1: they are read once. Volatile, so
// that the load stays where it is written, long before its use.
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

// The same for words that several rows read, which L1 keeps. The load does not need the row, but
// naming it lets the compiler merge loads within one row and not across rows, where the values
// would take the registers that the row itself needs. It also keeps the load behind the wait,
// before which the row is not known (VectorRow::each).
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

// The same two loads for less than a word, which may not be aligned to a word.
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

// Loads kBytes in accesses of kAccess bytes; `row` is as for load_words, or absent.
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

// Loads 16 bytes that other multiprocessors have written: from L2, which all of them share.
__device__ inline void load_from_l2(uint32_t (&to)[4], void const* from) {
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "l"(from)
                 : "memory");
}

}  // namespace fact
