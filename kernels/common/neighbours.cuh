// Elements that are neighbours in memory, read and written together.
#pragma once

#include <cstring>

#include "rows.cuh"
#ifdef __CUDACC__
#include "vector_rows.cuh"
#endif

namespace fact {

// Read in accesses of at most 16 bytes, to which they are aligned.
template <class T, int kCount>
struct Neighbours {
    static constexpr int kBytes = kCount * sizeof(T), kAccess = kBytes < 16 ? kBytes : 16;
    alignas(kAccess < 4 ? 4 : kAccess) uint32_t words[kBytes < 4 ? 1 : kBytes / 4];

    Neighbours() = default;
    __device__ explicit Neighbours(T const* from) {
#ifdef __CUDA_ARCH__
        load_bytes<kAccess, kBytes>(words, from);
#else
        memcpy(words, from, kBytes);
#endif
    }
    __device__ auto operator[](int i) const {
#ifdef __CUDA_ARCH__
        return widen_bits<T>(words, i * static_cast<int>(sizeof(T)));
#else
        T item;
        memcpy(&item, reinterpret_cast<char const*>(words) + i * sizeof(T), sizeof(T));
        return widen(item);
#endif
    }
};

// Writes kCount neighbours in the same accesses.
template <int kCount, class T>
__device__ inline void store_neighbours(T* to, float const (&values)[kCount]) {
    alignas(16) T items[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) items[i] = narrow<T>(values[i]);
#ifdef __CUDA_ARCH__
    constexpr int kBytes = Neighbours<T, kCount>::kBytes, kAccess = Neighbours<T, kCount>::kAccess;
    if constexpr (kAccess >= 4) {
#pragma unroll
        for (int at = 0; at < kBytes; at += kAccess) {
            uint32_t words[kAccess / 4];
            memcpy(words, reinterpret_cast<char const*>(items) + at, kAccess);
            store_words(reinterpret_cast<char*>(to) + at, words);
        }
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = items[i];
}

}  // namespace fact
