// How the elements of a row are shared among its threads: one vector each in turn, so that
// neighbouring threads read neighbouring memory.
#pragma once

namespace fact {

template <int kLength, int kVector, int kThreads>
struct RowShares {
    static_assert(kLength % kVector == 0, "a row is whole vectors");
    static constexpr int kVectors = kLength / kVector;
    static constexpr int kSteps = (kVectors + kThreads - 1) / kThreads;  // vectors per thread
    static constexpr int kHeld = kSteps * kVector;                       // elements per thread

    // Whether every thread has a vector in this step; in the last one some may have none.
    __device__ static constexpr bool full(int step) { return (step + 1) * kThreads <= kVectors; }
    __device__ static constexpr bool has(int step, int thread) {
        return full(step) || step * kThreads + thread < kVectors;
    }
    // The position in the row of the i-th element that a thread holds.
    __device__ static constexpr int place(int i, int thread) {
        return (i / kVector * kThreads + thread) * kVector + i % kVector;
    }
};

}  // namespace fact
