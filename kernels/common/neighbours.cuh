// Elements that are neighbours in memory, read and written in one access.
#pragma once

#include "numbers.cuh"

namespace fact {

template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Neighbours {
    T of[kCount];
    __device__ auto operator[](int i) const { return widen(of[i]); }
};

template <int kCount, class T>
__device__ Neighbours<T, kCount> neighbours(T const& first) {
    return *reinterpret_cast<Neighbours<T, kCount> const*>(&first);
}

template <int kCount, class T, class Value>
__device__ void store_neighbours(T& first, Value value) {
    Neighbours<T, kCount> all;
#pragma unroll
    for (int i = 0; i < kCount; ++i) all.of[i] = narrow<T>(value(i));
    *reinterpret_cast<Neighbours<T, kCount>*>(&first) = all;
}

}  // namespace fact
