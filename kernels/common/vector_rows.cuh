// Rows that fit into registers and are contiguous in memory, or made of contiguous pieces. Every
// thread reads its share of a row once, as vectors; reductions and results are computed from the
// registers, in kernels that reduce while the next row is being loaded. A long row has several
// thread blocks, a cluster.
#pragma once

#include "cluster.cuh"
#include "loads.cuh"
#include "row_shares.cuh"
#include "rows.cuh"

namespace fact {

template <int kWords>
__device__ inline void store_words(void* to, uint32_t const (&from)[kWords]) {
    if constexpr (kWords == 4)
        *static_cast<uint4*>(to) = make_uint4(from[0], from[1], from[2], from[3]);
    else if constexpr (kWords == 2)
        *static_cast<uint2*>(to) = make_uint2(from[0], from[1]);
    else
        *static_cast<uint32_t*>(to) = from[0];
}

// Decodes the number of type T that starts at byte `place` of some words.
template <class T>
__device__ inline auto widen_bits(uint32_t const* words, int place) {
    uint32_t const word = words[place / 4];
    if constexpr (std::is_same_v<T, bf16>)  // the upper half of a float
        return __uint_as_float(place % 4 ? word & 0xffff0000u : word << 16);
    else if constexpr (std::is_same_v<T, half>)
        return __half2float(__ushort_as_half(static_cast<uint16_t>(word >> place % 4 * 8)));
    else if constexpr (std::is_same_v<T, float>)
        return __uint_as_float(word);
    else if constexpr (std::is_same_v<T, double>)
        return static_cast<float>(__hiloint2double(words[place / 4 + 1], word));
    else if constexpr (std::is_same_v<T, bool>)
        return (word >> place % 4 * 8 & 0xff) != 0;
    else if constexpr (sizeof(T) == 8)
        return static_cast<int64_t>(uint64_t{words[place / 4 + 1]} << 32 | word);
    else
        return static_cast<int>(static_cast<T>(word >> place % 4 * 8));
}

// A row that is made of pieces of kPiece neighbours, which are `stride` elements apart.
template <class T, int kPiece>
struct Pieces {
    T* first;
    int64_t stride;

    __device__ T* operator+(int place) const {
        return first + place / kPiece * stride + place % kPiece;
    }
};
template <int kPiece, class T>
__device__ inline Pieces<T, kPiece> pieces(T* first, int64_t stride) {
    return {first, stride};
}

// How a row of kLength elements is computed: by kThreads threads of each of kBlocks thread blocks,
// which each take kVector elements at a time. kAhead: the next row is loaded ahead, if there are
// registers for it. With several blocks, a cluster computes one row.
template <int kLength, int kVector, int kThreads, bool kAhead, int kBlocks = 1>
struct VectorRow {
    using Shares = RowShares<kLength, kVector, kThreads * kBlocks>;
    static constexpr int kBlock = kThreads <= 32 ? 128 : kThreads;
    static constexpr int kRows = kBlock / kThreads;  // rows per thread block at a time
    static constexpr int kWarps = kThreads / 32;     // per row; 0: less than one
    static_assert(kThreads <= 32 ? 32 % kThreads == 0 : kThreads % 32 == 0);
    static_assert(kBlocks == 1 || (kThreads > 32 && !kAhead));

    __device__ static int thread() {
        if constexpr (kBlocks == 1)
            return threadIdx.x % kThreads;
        else
            return rank_in_cluster() * kThreads + threadIdx.x;
    }
    __device__ static int place(int i) { return Shares::place(i, thread()); }

    // A thread's share of one tensor's row, encoded as in memory.
    template <class T>
    struct Share {
        static constexpr int kBytes = kVector * sizeof(T);
        static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;  // of a vector
        uint32_t words[Shares::kSteps][kWords];

        // Reads the share in accesses of kAccess bytes. Given the number of the row, as for
        // load_words, it is left in L1 for others that read the same.
        template <int kAccess, class Row, class... Number>
        __device__ void load(Row row, Number... number) {
#pragma unroll
            for (int step = 0; step < Shares::kSteps; ++step)
                if (Shares::has(step, thread()))
                    load_bytes<kAccess, kBytes>(words[step], row + place(step * kVector),
                                                number...);
        }
        __device__ auto operator[](int i) const {
            return widen_bits<T>(words[i / kVector], i % kVector * sizeof(T));
        }
    };

    // The only row of a tensor, which serves all rows: read again for each of them, where it is
    // used. `row` is as for load_words.
    template <class T, int kAccess>
    struct Repeated {
        T const* start;
        int row;

        __device__ auto operator[](int i) const {
            uint32_t words[Share<T>::kWords];
            load_bytes<kAccess, Share<T>::kBytes>(words, start + place(i / kVector * kVector), row);
            return widen_bits<T>(words, i % kVector * sizeof(T));
        }
    };

    // Calls body(row, inputs) for the rows of this thread, each with its Inputs loaded. Threads of
    // one warp run the same number of rounds: those past the last row repeat it.
    template <class Inputs, class Arguments, class Body>
    __device__ static void each(Arguments const& args, int rows, Body body) {
        if constexpr (kBlocks > 1) {
            compute_in_cluster<Inputs>(args, static_cast<int>(blockIdx.x / kBlocks), body);
            return;
        }
        constexpr int kTogether = kThreads < 32 ? 32 / kThreads : 1;  // rows that share a warp
        int const within = threadIdx.x / kThreads;
        int64_t const step = static_cast<int64_t>(gridDim.x) * kRows;
        int64_t first = static_cast<int64_t>(blockIdx.x) * kRows + within / kTogether * kTogether;
        auto const row_at = [&](int64_t start) {
            if constexpr (kTogether == 1) return static_cast<int>(start);
            return static_cast<int>(::min(start + within % kTogether, int64_t{rows} - 1));
        };
        Inputs ahead;
        wait_for_previous();
        asm volatile("" : "+l"(first));  // hides its value, so that no load moves above the wait
        if (kAhead && first < rows) ahead.load(args, row_at(first));
        for (; first < rows; first += step) {
            if constexpr (!kAhead) ahead.load(args, row_at(first));
            Inputs const inputs = ahead;
            if (kAhead && first + step < rows) ahead.load(args, row_at(first + step));
            body(row_at(first), inputs);
        }
    }

    // Values along the row, computed once.
    template <class T>
    struct Values {
        T held[Shares::kHeld];
        __device__ T operator[](int i) const { return held[i]; }
    };
    template <class Value>
    __device__ static auto values(Value value) {
        Values<decltype(value(0))> all;
#pragma unroll
        for (int i = 0; i < Shares::kHeld; ++i)
            if (Shares::has(i / kVector, thread())) all.held[i] = value(i);
        return all;
    }

    // The same value in every thread of the row, added up in the same order every time.
    template <class Op, class Value>
    __device__ auto reduce(Value value) {
        using T = decltype(value(0));
        T mine = Op::template identity<T>();
#pragma unroll
        for (int step = 0; step < Shares::kSteps; ++step) {
            if (!Shares::has(step, thread())) continue;
            T part = value(step * kVector);
#pragma unroll
            for (int i = 1; i < kVector; ++i) part = Op::combine(part, value(step * kVector + i));
            mine = Op::combine(mine, part);
        }
#pragma unroll
        for (int lanes = kThreads < 32 ? kThreads / 2 : 16; lanes > 0; lanes /= 2)
            mine = Op::combine(mine, __shfl_xor_sync(0xffffffff, mine, lanes));
        if constexpr (kWarps <= 1)
            return mine;
        else if constexpr (kBlocks == 1)
            return across_warps<Op, Value>(mine);
        else
            return across_blocks<Op, Value>(across_warps<Op, Value>(mine));
    }

    // Writes value(i) for the elements of this thread. All are computed before the first is
    // written: the compiler does not move loads above a store.
    template <int kAccess, class Row, class Value>
    __device__ static void store(Row row, Value value) {
        using T = std::remove_pointer_t<decltype(row + 0)>;
        constexpr int kWords = Share<T>::kWords;
        uint32_t words[Shares::kSteps][kWords];
#pragma unroll
        for (int step = 0; step < Shares::kSteps; ++step) {
            if (!Shares::has(step, thread())) continue;
            alignas(16) T items[kVector];
#pragma unroll
            for (int i = 0; i < kVector; ++i) items[i] = narrow<T>(value(step * kVector + i));
            memcpy(words[step], items, sizeof(items));
        }
#pragma unroll
        for (int step = 0; step < Shares::kSteps; ++step) {
            if (!Shares::has(step, thread())) continue;
            char* const to = reinterpret_cast<char*>(row + place(step * kVector));
            if constexpr (kAccess < 4) {
                T items[kVector];
                memcpy(items, words[step], sizeof(items));
#pragma unroll
                for (int i = 0; i < kVector; ++i) reinterpret_cast<T*>(to)[i] = items[i];
            } else {
#pragma unroll
                for (int w = 0; w < kWords; w += kAccess / 4)
                    store_words(to + w * 4,
                                reinterpret_cast<uint32_t(&)[kAccess / 4]>(words[step][w]));
            }
        }
    }

    // Writes something once per row.
    template <class Write>
    __device__ static void once(Write write) {
        if (thread() == 0) write();
    }

  private:
    // Consecutive reductions use the two halves of `parts` in turn, so that one barrier is enough:
    // a thread that writes a half again has passed the barrier of the reduction in between, which
    // all threads reach only after they have read that half.
    template <class Op, class Value, class T>
    __device__ T across_warps(T mine) {
        alignas(16) __shared__ T parts[2][kWarps];
        turn_ ^= 1;
        if (threadIdx.x % 32 == 0) parts[turn_][threadIdx.x / 32] = mine;
        __syncthreads();
        T all = parts[turn_][0];
#pragma unroll
        for (int warp = 1; warp < kWarps; ++warp) all = Op::combine(all, parts[turn_][warp]);
        return all;
    }

    // The same across the blocks of the cluster: each writes its part to all of them.
    template <class Op, class Value, class T>
    __device__ static T across_blocks(T mine) {
        alignas(16) __shared__ T parts[kBlocks];  // used once: a cluster computes one row
        if (threadIdx.x < kBlocks) store_in_block(&parts[rank_in_cluster()], mine, threadIdx.x);
        arrive_at_cluster();
        wait_for_cluster();
        T all = parts[0];
#pragma unroll
        for (int block = 1; block < kBlocks; ++block) all = Op::combine(all, parts[block]);
        return all;
    }

    int turn_ = 0;
};

}  // namespace fact
