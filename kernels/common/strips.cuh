// Windows seen by one thread for several places in a row, which share what they see, and for
// several neighbours in memory, which are read in one access.
#pragma once

#include "neighbours.cuh"
#include "rows.cuh"

namespace fact {

// What the windows of neighbouring places see along one dimension: kLength elements, each with its
// neighbours in memory.
template <class T, int kCount, int kLength>
struct Line {
    Neighbours<T, kCount> held[kLength];

    // The elements at `start`, `step` apart.
    __device__ Line(T const* start, int64_t step) {
#pragma unroll
        for (int i = 0; i < kLength; ++i) held[i] = neighbours<kCount>(start[i * step]);
    }
    // The elements from coordinate `first` on, which would be at `start`, `step` apart. Where they
    // are not inside of the tensor, or `inside_others` says so of the other dimensions, they are
    // `outside`.
    __device__ Line(T const* start, int64_t step, int first, int extent, bool inside_others,
                    float outside) {
        T const nothing = narrow<T>(outside);
#pragma unroll
        for (int i = 0; i < kLength; ++i) {
#pragma unroll
            for (int n = 0; n < kCount; ++n) held[i].of[n] = nothing;
            if (inside_others && inside(first + i, extent))
                held[i] = neighbours<kCount>(start[i * step]);
        }
    }
    __device__ auto at(int i, int neighbour) const { return held[i][neighbour]; }
};

// A reduction for kPlaces places, and kCount neighbours of each.
template <class Op, int kPlaces, int kCount>
struct Reduced {
    float of[kPlaces][kCount];

    __device__ Reduced() {
#pragma unroll
        for (int place = 0; place < kPlaces; ++place)
#pragma unroll
            for (int i = 0; i < kCount; ++i) of[place][i] = Op::template identity<float>();
    }
    template <class Value>
    __device__ void add(Value value) {
#pragma unroll
        for (int place = 0; place < kPlaces; ++place)
#pragma unroll
            for (int i = 0; i < kCount; ++i)
                of[place][i] = Op::combine(of[place][i], value(place, i));
    }
    __device__ float at(int place, int neighbour) const { return of[place][neighbour]; }
};

}  // namespace fact
