// The product of f32 operands on tensor cores, as accurate as f32 arithmetic: each number is split
// into two f16 parts (single_numbers.cuh), those of A on their way through registers. Every
// k-tile's sum is added to f32 registers before the tensor core's rounding can build up.
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
    __device__ static void run(Ring& ring, typename Ring::Arrival const& arrival,
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
            ring.release(used, arrival);
            a.add(tile, sums);
            if (k % kChunk == kChunk - 1) total.take(sums);
            a = next;
        }
        total.add_to(sums);
    }

    template <class Ring, class Position>
    __device__ static void drain(Ring&, typename Ring::Arrival const&, Position const&, Sums&) {}

  private:
    // A long sum loses bits: tiles with registers to spare sum at most this many k-tiles, and add
    // those sums to a total.
    static constexpr int kChunk = 256;
    struct Total {
        static constexpr bool kUsed = kBlocks * Config::kTileN / 2 <= 32;
        Sums values{};
        __device__ void take(Sums& sums) {
            if constexpr (kUsed) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) {
                        values[i][j] += sums[i][j];
                        sums[i][j] = 0.f;
                    }
            }
        }
        __device__ void add_to(Sums& sums) const {
            if constexpr (kUsed) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) sums[i][j] += values[i][j];
            }
        }
    };

    // A lane's numbers of A in one k-tile.
    struct Fragments {
        typename Numbers::Fragment blocks[kBlocks];

        __device__ void read(unsigned char const* tile, int group) {
            int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                blocks[i].read(tile, block_of(group, i) * 64 + warp * 16 + lane / 4, lane % 4);
        }
        // The registers are written before this point; the asynchronous products read them later.
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
