// Sums of tiles that are cut along K between clusters. In stream-K, clusters with a later stretch
// leave their sums in memory, and the one with the first stretch adds them and finishes the tile.
// In split-K, all leave their sums, and the last to arrive adds them: first within teams of parts,
// then across teams, so that no thread block adds up all the parts alone.
#pragma once

#include <cstdint>

#include "../common/loads.cuh"
#include "start_order.cuh"

namespace fact::sm90 {

inline constexpr int kMaxBlocks = 144;  // multiprocessors of the largest sm90 chip; the launch
                                        // record allows no more thread blocks

// A thread block's mark holds the launch's token once its sums are written. Every launch has its
// own token, except that replays of a CUDA graph share one: the reader resets the mark, so that
// they start clean. Nothing has to be cleared before a launch.
struct Partials {
    uint64_t* marks;  // two groups of kMaxBlocks blocks; StartCounts and the blocks' sums follow
    uint64_t token;

    __device__ StartCounts& start_counts() const {
        return *reinterpret_cast<StartCounts*>(marks + 2 * kMaxBlocks);
    }
    __device__ float4* sums() const {
        static_assert(sizeof(StartCounts) % sizeof(float4) == 0);
        return reinterpret_cast<float4*>(&start_counts() + 1);
    }
};

// What a consumer group leaves in Partials and reads from it. A thread block leaves at most one
// tile's sums. In stream-K, blocks are numbered in the order of their start, and none waits for a
// block with a higher number, so kernels that share the GPU cannot deadlock. In split-K none waits.
template <class Config, class Mainloop>
struct PartialSums {
    using Sums = typename Mainloop::Sums;
    static constexpr int kThreads = 128, kGroups = Config::kPingpong ? 1 : 2;
    static constexpr int kQuads = sizeof(Sums) / sizeof(float4);
    Partials const& partials;
    int block, group;  // block: its number in start order

    __device__ void leave(Sums const& sums) const {
        write(block, sums);
        if (thread() == 0)
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(mark(block)),
                         "l"(partials.token)
                         : "memory");
    }

    // Adds what the `count` clusters (of `cluster_size` blocks) that started just before this one
    // have left, the latest first.
    __device__ void add_to(Sums& sums, int count, int cluster_size) const {
        for (int i = thread() + 1; i <= count; i += kThreads) {
            uint64_t* const from = mark(block - i * cluster_size);
            uint64_t seen;
            do {
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                             : "=l"(seen)
                             : "l"(from)
                             : "memory");
            } while (seen != partials.token);
            *from = 0;
        }
        sync_group();
        add(sums, block - cluster_size, count, -cluster_size);
    }

    // This block has part `part` of the `parts` of a tile; the neighbouring parts are `stride`
    // blocks away. Returns whether this block was the last to arrive: then `sums` are the whole
    // tile's, added in the order of the parts.
    __device__ bool gather(Sums& sums, int part, int parts, int stride) const {
        int const first = block - part * stride;
        constexpr int kOneTeam = 6;  // up to here a second level costs more than it saves
        int team = parts <= kOneTeam ? parts : kOneTeam;
        while (team * team < parts) ++team;
        int const begin = part / team * team, end = min(begin + team, parts);
        write(block, sums);
        if (!last_of(end - begin, first + begin * stride)) return false;
        read(sums, first + begin * stride);
        add(sums, first + (begin + 1) * stride, end - begin - 1, stride);
        if (parts <= team) return true;
        // The team's sums go to its first slot. The mark of the tile's second block counts the
        // teams, since that of the first counts the blocks of the first team.
        sync_group();
        write(first + begin * stride, sums);
        int const teams = (parts + team - 1) / team;
        if (!last_of(teams, first + stride)) return false;
        read(sums, first);
        add(sums, first + team * stride, teams - 1, team * stride);
        return true;
    }

  private:
    __device__ void write(int at, Sums const& sums) const {
        float const* values = &sums[0][0];
        float4* to = quads(at);
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
            __stcg(to + i * kThreads, make_float4(values[4 * i], values[4 * i + 1],
                                                  values[4 * i + 2], values[4 * i + 3]));
        __threadfence();
        sync_group();
    }
    __device__ static float4 load(float4 const* from) {
        uint32_t bits[4];
        load_from_l2(bits, from);
        return as_floats(bits);
    }
    __device__ void read(Sums& sums, int at) const {
        float* values = &sums[0][0];
        float4 const* from = quads(at);
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
            float4 const quad = load(from + q * kThreads);
            values[4 * q] = quad.x, values[4 * q + 1] = quad.y;
            values[4 * q + 2] = quad.z, values[4 * q + 3] = quad.w;
        }
    }
    // Adds what `count` blocks have left, in this order, each `stride` blocks after the previous.
    __device__ void add(Sums& sums, int first, int count, int stride) const {
        int i = 0;
        // Two are loaded at a time if there are registers for them: it takes no longer.
        if constexpr (Mainloop::kSumsAtOnce == 2)
            for (; i + 1 < count; i += 2) {
                Sums left, right;
                read(left, first + i * stride);
                read(right, first + (i + 1) * stride);
#pragma unroll
                for (int v = 0; v < 4 * kQuads; ++v)
                    (&sums[0][0])[v] = (&sums[0][0])[v] + (&left[0][0])[v] + (&right[0][0])[v];
            }
        for (; i < count; ++i) add(sums, first + i * stride);
    }
    __device__ void add(Sums& sums, int at) const {
        float* values = &sums[0][0];
        float4 const* from = quads(at);
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
            float4 const quad = load(from + q * kThreads);
            values[4 * q] += quad.x, values[4 * q + 1] += quad.y;
            values[4 * q + 2] += quad.z, values[4 * q + 3] += quad.w;
        }
    }

    // Whether the group is the last of `count` to arrive. The mark of block `at` holds the launch's
    // token and, in its lowest eight bits, how many have arrived; the last group resets it.
    __device__ bool last_of(int count, int at) const {
        int last = 0;
        if (thread() == 0) {
            auto* const word = reinterpret_cast<unsigned long long*>(mark(at));
            unsigned long long const tag = partials.token << 8;
            unsigned long long seen = *const_cast<unsigned long long volatile*>(word), before;
            do {
                before = seen;
                int const arrived = (before ^ tag) < 256 ? static_cast<int>(before & 255) : 0;
                last = arrived + 1 == count;
                seen = atomicCAS(word, before, last ? 0 : tag | (arrived + 1));
            } while (seen != before);
            __threadfence();
        }
        int any_last;
        asm volatile(
            "{\n.reg .pred p, q;\nsetp.ne.b32 p, %1, 0;\n"
            "barrier.cta.red.or.pred q, %2, %3, p;\nselp.b32 %0, 1, 0, q;\n}"
            : "=r"(any_last)
            : "r"(last), "r"(3 + group), "n"(kThreads)
            : "memory");
        return any_last != 0;
    }
    __device__ static int thread() { return threadIdx.x % kThreads; }
    __device__ int slot(int at) const { return at * kGroups + (kGroups == 1 ? 0 : group); }
    __device__ uint64_t* mark(int at) const { return partials.marks + slot(at); }
    __device__ float4* quads(int at) const {
        return partials.sums() + static_cast<int64_t>(slot(at)) * kQuads * kThreads + thread();
    }
    // Named barriers 3 and 4: Turn uses 1 and 2.
    __device__ void sync_group() const {
        asm volatile("bar.sync %0, %1;" ::"r"(3 + group), "n"(kThreads) : "memory");
    }
};

}  // namespace fact::sm90
