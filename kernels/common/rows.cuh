// Kernels without a matrix product: pointwise operations and reductions along rows. A "row" is
// whatever is reduced over, for one choice of the other coordinates.
#pragma once

#include <climits>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "numbers.cuh"
#include "previous.cuh"

namespace fact {

inline constexpr int kRowThreads = 256;

// A tensor with a stride for each dimension. The launcher has seen that the last one is 1, and
// knowing that spares a multiplication for every element.
template <class T, int kRank>
struct Tensor {
    T* data;
    int64_t strides[kRank > 0 ? kRank : 1];

    template <class... Coordinates>
    __device__ T& operator()(Coordinates... at) const {
        static_assert(sizeof...(at) == kRank);
        int64_t offset = 0;
        int d = 0;
        ((offset += ++d < kRank ? at * strides[d - 1] : at), ...);
        return data[offset];
    }
};

// Converts a value to the type it is stored in, rounded to nearest even.
template <class T, class Value>
__device__ T narrow(Value x) {
    if constexpr (std::is_same_v<T, bf16>)
        return __float2bfloat16_rn(static_cast<float>(x));
    else if constexpr (std::is_same_v<T, half>)
        return __float2half_rn(static_cast<float>(x));
    else
        return static_cast<T>(x);
}

// Whether a window's element is in the tensor.
__device__ inline bool inside(int at, int extent) {
    return static_cast<unsigned>(at) < static_cast<unsigned>(extent);
}

// body(known), where `known` converts to a constant: code without tests where all that windows read
// is in the tensor, whose loads then share one address.
template <class Body>
__device__ auto by_case(bool all_inside, Body body) {
    return all_inside ? body(std::true_type{}) : body(std::false_type{});
}

// A reduction's initial value and its operation; T is float, int or int64_t.
struct Sum {
    template <class T>
    __device__ static T identity() {
        return 0;
    }
    template <class T>
    __device__ static T combine(T a, T b) {
        return a + b;
    }
};
template <bool kLargest>
struct Extreme {  // NaN if either is
    template <class T>
    __device__ static T identity() {
        if constexpr (std::is_same_v<T, float>) return kLargest ? -INFINITY : INFINITY;
        if constexpr (sizeof(T) == 8) return kLargest ? INT64_MIN : INT64_MAX;
        return kLargest ? INT_MIN : INT_MAX;
    }
    template <class T>
    __device__ static T combine(T a, T b) {
        if constexpr (std::is_same_v<T, float>)
            return kLargest ? Functions<float>::max(a, b) : Functions<float>::min(a, b);
        return (kLargest ? a > b : a < b) ? a : b;
    }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

// Elements that a thread reads in a step must not be behind branches, or each is waited for before
// the next is read. What a step of kStep, begun at `first`, has beyond the row's end is read from
// the row's last element, which is so many after `first`.
template <int kStep>
__device__ int last_of_step(int64_t first, int64_t count) {
    return static_cast<int>(min(count - 1 - first, int64_t{kStep}));
}

// A row shared by all threads of a thread block.
struct BlockRow {
    // Calls body(row) for the rows of this thread block.
    template <class Body>
    __device__ static void each_row(int64_t rows, Body body) {
        wait_for_previous();
        for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) body(row);
    }
    // Calls visit(i) for the elements of the row that are this thread's.
    template <class Visit>
    __device__ static void each(int64_t count, Visit visit) {
        for (int64_t i = threadIdx.x; i < count; i += kRowThreads) visit(i);
    }
    // Calls write() once per row.
    template <class Write>
    __device__ static void once(Write write) {
        if (threadIdx.x == 0) write();
    }
    // The same value in every thread, added up in the same order every time.
    template <class Op, class Value>
    __device__ static auto reduce(int64_t count, Value value) {
        using T = decltype(value(0));
        __shared__ T parts[kRowThreads / 32];
        T mine = Op::template identity<T>();
        for (int64_t i = threadIdx.x; i < count; i += kRowThreads)
            mine = Op::combine(mine, value(i));
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            mine = Op::combine(mine, __shfl_xor_sync(0xffffffff, mine, step));
        __syncthreads();  // the parts of the previous reduction have been read
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
        __syncthreads();
        T all = parts[0];
#pragma unroll
        for (int warp = 1; warp < kRowThreads / 32; ++warp) all = Op::combine(all, parts[warp]);
        return all;
    }
};

// Rows whose elements of the same index are neighbours in memory: each lane takes one row, and the
// warps share its length.
struct ColumnRow {
    static constexpr int kRows = 32, kWarps = kRowThreads / 32;
    static constexpr int kChunk = 64;  // elements summed apart: a long sum of floats loses bits
    static constexpr int kAtOnce = 8;  // elements loaded before any is added up
    // Blocks that a multiprocessor has room for: told nothing, the compiler makes room for as many
    // as there are threads for, and loads one element after the other.
    static constexpr int kBlocks = 4;

    // Reductions have barriers, so all threads must run the same number of rounds: those past the
    // last row repeat it.
    template <class Body>
    __device__ static void each_row(int64_t rows, Body body) {
        wait_for_previous();
        for (int64_t first = int64_t{blockIdx.x} * kRows; first < rows;
             first += int64_t{gridDim.x} * kRows)
            body(min(first + threadIdx.x % 32, rows - 1));
    }
    template <class Visit>
    __device__ static void each(int64_t count, Visit visit) {
        for (int64_t i = threadIdx.x / 32; i < count; i += kWarps) visit(i);
    }
    template <class Write>
    __device__ static void once(Write write) {
        if (threadIdx.x < 32) write();
    }
    template <class Op, class Value>
    __device__ static auto reduce(int64_t count, Value value) {
        using T = decltype(value(0));
        T mine = Op::template identity<T>();
        for (int64_t chunk = warp(); chunk < count; chunk += kWarps * kChunk) {
            T sum = Op::template identity<T>();
            int64_t const end = min(count, chunk + kWarps * kChunk);
            // Of whole steps `last` is a constant, without which the compiler does not load at
            // once.
            auto const step = [&](int64_t first, int last) {
                T x[kAtOnce];
#pragma unroll
                for (int i = 0; i < kAtOnce; ++i) x[i] = value(first + min(i * kWarps, last));
#pragma unroll
                for (int i = 0; i < kAtOnce; ++i)
                    if (i * kWarps <= last) sum = Op::combine(sum, x[i]);
            };
            int64_t first = chunk;
            for (; first + (kAtOnce - 1) * kWarps < end; first += kWarps * kAtOnce)
                step(first, (kAtOnce - 1) * kWarps);
            if (first < end) step(first, last_of_step<kWarps * kAtOnce>(first, count));
            mine = Op::combine(mine, sum);
        }
        return across_warps<Op, Value>(mine);
    }

    // The same three for a row of kCount elements, which a thread holds in registers. What it holds
    // is found by the element's index, which has to be one that `each` or `reduce` gives.
    template <class T, int kCount>
    struct Held {
        static constexpr int kSteps = (kCount + kWarps - 1) / kWarps;
        T of[kSteps];
        __device__ T operator()(int i) const { return of[(i - warp()) / kWarps]; }
    };
    template <int kCount, class Value>
    __device__ static auto hold(Value value) {
        Held<decltype(value(0)), kCount> held{};
#pragma unroll
        for (int i = 0; i < held.kSteps; ++i)
            if ((i + 1) * kWarps <= kCount || warp() + i * kWarps < kCount)
                held.of[i] = value(warp() + i * kWarps);
        return held;
    }
    template <int kCount, class Visit>
    __device__ static void each(Visit visit) {
#pragma unroll
        for (int i = 0; i < kCount; i += kWarps)
            if (warp() + i < kCount) visit(warp() + i);
    }
    template <class Op, int kCount, class Value>
    __device__ static auto reduce(Value value) {
        auto mine = Op::template identity<decltype(value(0))>();
        each<kCount>([&](int i) { mine = Op::combine(mine, value(i)); });
        return across_warps<Op, Value>(mine);
    }

  private:
    __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

    // What all warps have of a row, added up in the same order every time.
    template <class Op, class Value, class T>
    __device__ static T across_warps(T mine) {
        __shared__ T parts[kWarps][32];
        int const lane = static_cast<int>(threadIdx.x) % 32;
        __syncthreads();  // the parts of the previous reduction have been read
        parts[warp()][lane] = mine;
        __syncthreads();
        T all = parts[0][lane];
#pragma unroll
        for (int w = 1; w < kWarps; ++w) all = Op::combine(all, parts[w][lane]);
        return all;
    }
};

// A short row, computed by one thread.
struct ThreadRow {
    template <class Body>
    __device__ static void each_row(int64_t rows, Body body) {
        wait_for_previous();
        for (int64_t row = int64_t{blockIdx.x} * kRowThreads + threadIdx.x; row < rows;
             row += int64_t{gridDim.x} * kRowThreads)
            body(row);
    }
    template <class Visit>
    __device__ static void each(int64_t count, Visit visit) {
        for (int64_t i = 0; i < count; ++i) visit(i);
    }
    template <class Write>
    __device__ static void once(Write write) {
        write();
    }
    template <class Op, class Value>
    __device__ static auto reduce(int64_t count, Value value) {
        using T = decltype(value(0));
        T all = Op::template identity<T>();
        for (int64_t i = 0; i < count; ++i) all = Op::combine(all, value(i));
        return all;
    }
    // The same for a constant count, so that coordinates computed from `i` are constants.
    template <class Op, int kCount, class Value>
    __device__ static auto reduce(Value value) {
        constexpr int kUnrolled = kCount <= 128 ? kCount : 8;
        using T = decltype(value(0));
        T all = Op::template identity<T>();
#pragma unroll kUnrolled
        for (int i = 0; i < kCount; ++i) all = Op::combine(all, value(i));
        return all;
    }
};

}  // namespace fact
