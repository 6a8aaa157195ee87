// Rows whose elements of the same index are neighbours in memory, and so many of them that a thread
// computes whole rows: threads share nothing, and a warp reads whole lines of memory.
#pragma once

#include "neighbours.cuh"
#include "rows.cuh"

namespace fact {

// Of a thread block: few, as each may hold a row of 128 elements in registers.
inline constexpr int kColumnThreads = 128;

// A thread computes kNeighbours neighbouring rows.
template <int kNeighbours>
struct Columns {
    static_assert(32 % kNeighbours == 0);
    // Elements of each row that are loaded before any is added up: 128 bytes of floats in flight.
    // They are summed apart, as a long sum of floats loses bits.
    static constexpr int kAtOnce = 32 / kNeighbours;
    static constexpr int kApart = 8;  // the same of a row in registers

    // One value for each of the rows.
    template <class T>
    struct Each {
        T of[kNeighbours];
        __device__ T operator[](int i) const { return of[i]; }
    };
    template <class Value>
    __device__ static auto values(Value value) {
        Each<decltype(value(0))> all;
#pragma unroll
        for (int i = 0; i < kNeighbours; ++i) all.of[i] = value(i);
        return all;
    }

    // Calls body(row) for the first of every kNeighbours rows, of which `rows` is a multiple.
    template <class Body>
    __device__ static void each_row(int rows, Body body) {
        wait_for_previous();
        constexpr int kStep = kColumnThreads * kNeighbours;
        for (int64_t row = int64_t{blockIdx.x} * kStep + threadIdx.x * kNeighbours; row < rows;
             row += int64_t{gridDim.x} * kStep)
            body(static_cast<int>(row));
    }

    // What reading memory element by element finds; value(at) has the values of all rows.
    template <class Op, int kLength, class Value>
    __device__ static auto reduce(Value value) {
        auto all = nothing<Op, decltype(value(0)[0])>();
#pragma unroll 1
        for (int at = 0; at < kLength / kAtOnce * kAtOnce; at += kAtOnce)
            add<Op>(all, some<Op, kAtOnce>(at, value));
        if constexpr (kLength % kAtOnce != 0)
            add<Op>(all, some<Op, kLength % kAtOnce>(kLength / kAtOnce * kAtOnce, value));
        return all;
    }

    // Rows in registers: whatever is computed from them is straight-line code.
    template <class T, int kLength>
    struct Held {
        T of[kLength];
        __device__ T const& operator()(int at) const { return of[at]; }
    };
    template <int kLength, class Value>
    __device__ static auto hold(Value value) {
        Held<decltype(value(0)), kLength> held;
#pragma unroll
        for (int at = 0; at < kLength; ++at) held.of[at] = value(at);
        return held;
    }
    // Writes value(at) to what to(at) is the first of. Several are computed before the first of
    // them is written: no load moves above a store.
    template <int kLength, class To, class Value>
    __device__ static void write(To to, Value value) {
#pragma unroll
        for (int first = 0; first < kLength; first += kApart) {
            using T = std::remove_reference_t<decltype(to(0))>;
            Neighbours<T, kNeighbours> some[kApart];
#pragma unroll
            for (int at = 0; at < kApart; ++at)
                if (first + at < kLength) some[at] = narrowed<T>(value(first + at));
#pragma unroll
            for (int at = 0; at < kApart; ++at)
                if (first + at < kLength) put(to(first + at), some[at]);
        }
    }
    template <class Op, int kLength, class Value>
    __device__ static auto reduce_held(Value value) {
        auto all = nothing<Op, decltype(value(0)[0])>();
#pragma unroll
        for (int at = 0; at < kLength / kApart * kApart; at += kApart)
            add<Op>(all, some<Op, kApart>(at, value));
        if constexpr (kLength % kApart != 0)
            add<Op>(all, some<Op, kLength % kApart>(kLength / kApart * kApart, value));
        return all;
    }

    // Writes value(i) for all rows, side by side.
    template <class T, class Value>
    __device__ static void store(T& first, Value value) {
        put(first, narrowed<T>(values(value)));
    }

  private:
    template <class T, class Of>
    __device__ static auto narrowed(Each<Of> const& values) {
        Neighbours<T, kNeighbours> all;
#pragma unroll
        for (int i = 0; i < kNeighbours; ++i) all.of[i] = narrow<T>(values[i]);
        return all;
    }
    template <class T>
    __device__ static void put(T& first, Neighbours<T, kNeighbours> const& all) {
        *reinterpret_cast<Neighbours<T, kNeighbours>*>(&first) = all;
    }
    template <class Op, class T>
    __device__ static Each<T> nothing() {
        return values([](int) { return Op::template identity<T>(); });
    }
    template <class Op, class T>
    __device__ static void add(Each<T>& all, Each<T> const& more) {
#pragma unroll
        for (int i = 0; i < kNeighbours; ++i) all.of[i] = Op::combine(all.of[i], more.of[i]);
    }
    // The reduction of kCount elements from `first` on.
    template <class Op, int kCount, class Value>
    __device__ static auto some(int first, Value value) {
        decltype(value(0)) x[kCount];
#pragma unroll
        for (int at = 0; at < kCount; ++at) x[at] = value(first + at);
#pragma unroll
        for (int at = 1; at < kCount; ++at) add<Op>(x[0], x[at]);
        return x[0];
    }
};

}  // namespace fact
