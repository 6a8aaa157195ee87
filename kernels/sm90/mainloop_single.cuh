// The product of f32 operands on tensor cores, as accurate as f32 arithmetic: each number is two
// f16 parts (single_numbers.cuh). A is split on its way through registers. Every k-tile's sum is
// added to f32 registers before the tensor core's own rounding can build up.
#pragma once

#include "single_operands.cuh"

namespace fact::sm90 {

template <class Config>
struct MainloopSingle : SingleOperands<Config, SplitNumbers<Config::kMajorA>> {
    static_assert(!Config::kPingpong);
    using Base = SingleOperands<Config, SplitNumbers<Config::kMajorA>>;
    using Base::kBlocks, Base::kStageBytes, Base::block_of;
    using typename Base::Numbers, typename Base::Sums, typename Base::TileA;

    template <class Ring, class Position>
    __device__ static void run(Ring& ring, typename Ring::Signature const& signature,
                               unsigned char* stages, Position& position, int k_tiles, int group,
                               Sums& sums) {
#pragma unroll
        for (auto& block : sums)
#pragma unroll
            for (float& x : block) x = 0.f;
        Total total;
        Fragments a;
        ring.full[position.stage].wait(position.phase);
        a.read(stages + position.stage * kStageBytes, group);
        for (int k = 0; k < k_tiles; ++k) {
            unsigned char const* b = stages + position.stage * kStageBytes + TileA::kBytes;
            Sums tile;
            pin(tile);
            a.pin();
            cute::warpgroup_arrive();
            a.multiply(b, tile);
            cute::warpgroup_commit_batch();
            int const used = position.stage;
            position.advance();
            Fragments next;
            if (k + 1 < k_tiles) {  // the next tile is converted while this one is multiplied
                ring.full[position.stage].wait(position.phase);
                next.read(stages + position.stage * kStageBytes, group);
            }
            cute::warpgroup_wait<0>();
            pin(tile);
            ring.release(used, signature);
            a.add(tile, sums);
            if (k % kChunk == kChunk - 1) total.take(sums);
            a = next;
        }
        total.give(sums);
    }

    template <class Ring, class Position>
    __device__ static void finish(Ring&, typename Ring::Signature const&, Position const&, Sums&) {}

  private:
    // A long sum is rounded more often than a short one: tiles with registers to spare add up sums
    // of at most this many k-tiles.
    static constexpr int kChunk = 256;
    struct Total {
        static constexpr bool kKept = kBlocks * Config::kTileN / 2 <= 32;
        Sums values{};
        __device__ void take(Sums& sums) {
            if constexpr (kKept) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) {
                        values[i][j] += sums[i][j];
                        sums[i][j] = 0.f;
                    }
            }
        }
        __device__ void give(Sums& sums) const {
            if constexpr (kKept) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) sums[i][j] += values[i][j];
            }
        }
    };

    // A lane's numbers of A in one k-tile, and what becomes of them.
    struct Fragments {
        typename Numbers::Fragment blocks[kBlocks];

        __device__ void read(unsigned char const* tile, int group) {
            int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                blocks[i].read(tile, block_of(group, i) * 64 + warp * 16 + lane / 4, lane % 4);
        }
        // The registers are written before this point: the asynchronous products read them after.
        __device__ void pin() {
#pragma unroll
            for (auto& block : blocks) block.pin();
        }
        __device__ void multiply(unsigned char const* b, Sums& tile) const {
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                blocks[i].template multiply<Config::kTileN>(b, tile[i]);
        }
        __device__ void add(Sums const& tile, Sums& sums) const {
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                for (int j = 0; j < Config::kTileN / 2; ++j)
                    sums[i][j] = blocks[i].added(sums[i][j], tile[i][j], j % 4 / 2);
        }
    };
};

}  // namespace fact::sm90
