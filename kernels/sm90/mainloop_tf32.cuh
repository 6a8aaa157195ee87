// The product of f32 operands in TF32's precision: each number becomes one f16 number (Tf32Numbers
// in single_numbers.cuh). A is converted on its way through registers while the tensor cores
// multiply the previous k-tile; the tensor cores keep their sums from k-tile to k-tile.
#pragma once

#include "single_operands.cuh"

namespace fact::sm90 {

template <class Config>
struct MainloopTf32 : SingleOperands<Config, Tf32Numbers<Config::kMajorA>> {
    using Base = SingleOperands<Config, Tf32Numbers<Config::kMajorA>>;
    using Base::kStageBytes, Base::block_of;
    using typename Base::Numbers, typename Base::Sums, typename Base::TileA;
    static_assert(Base::kBlocks == 1);  // with more, A's numbers leave too few registers

    // All k-tiles of one output tile. Leaves the last products in flight: drain() waits for them.
    template <class Ring, class Position>
    __device__ void run(Ring& ring, typename Ring::Arrival const& arrival, unsigned char* stages,
                        Position& position, int k_tiles, int group, Sums& sums) {
        if constexpr (!kTwoLevels) {
            run_chunk(ring, arrival, stages, position, k_tiles, group, sums);
        } else {
            float total[kSums] = {};
            for (int left = k_tiles; left > 0; left -= kChunk) {
                run_chunk(ring, arrival, stages, position, min(left, kChunk), group, sums);
                if (k_tiles <= kChunk) return;
                cute::warpgroup_wait<0>();
                pin(sums);
                if (left > kChunk) ring.release(position.before(), arrival);
#pragma unroll
                for (int j = 0; j < kSums; ++j)
                    total[j] = fmaf(sums[0][j], scales.down(j % 4 / 2), total[j]);
            }
#pragma unroll
            for (int j = 0; j < kSums; ++j) sums[0][j] = total[j];
            scales.up[0] = scales.up[1] = 1.f;
        }
    }

    template <class Ring, class Position>
    __device__ void drain(Ring& ring, typename Ring::Arrival const& arrival,
                          Position const& position, Sums& sums) const {
        cute::warpgroup_wait<0>();
        pin(sums);
        ring.release(position.before(), arrival);
#pragma unroll
        for (int j = 0; j < kSums; ++j) sums[0][j] *= scales.down(j % 4 / 2);
    }

  private:
    static constexpr int kSums = Config::kTileN / 2;
    // A long sum in the tensor core loses bits. Tiles with registers to spare sum at most this many
    // k-tiles there, and add those sums in f32.
    static constexpr int kChunk = 1024;
    static constexpr bool kTwoLevels = kSums <= 32;

    using Loaded = typename Numbers::Loaded;
    using Fragment = typename Numbers::Fragment;
    typename Numbers::RowScales scales;  // of the current sums

    // Returns whether all numbers of this warp's rows were within range.
    __device__ bool convert(Loaded const& from, Fragment& to) const {
        return __all_sync(0xffffffff, to.convert(from, scales));
    }

    // Lowers the scales so that these numbers fit, and the sums with them.
    __device__ void make_room(Loaded const& numbers, Sums& sums) {
        auto const wanted = numbers.scales();
        float ratio[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float const up = fminf(scales.up[half], wanted.up[half]);
            ratio[half] = up * scales.down(half);
            scales.up[half] = up;
        }
#pragma unroll
        for (int j = 0; j < kSums; ++j) sums[0][j] *= ratio[j % 4 / 2];
    }

    template <class Ring, class Position>
    __device__ void run_chunk(Ring& ring, typename Ring::Arrival const& arrival,
                              unsigned char* stages, Position& position, int k_tiles, int group,
                              Sums& sums) {
        int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        int const row = block_of(group, 0) * 64 + warp * 16 + lane / 4, quad = lane % 4;
        Loaded numbers;
        Fragment even, odd;  // the products read one while the other is written
        ring.full[position.stage].wait(position.phase);
        numbers.load(stages + position.stage * kStageBytes, row, quad);
        scales = numbers.scales();
        convert(numbers, even);

        int k = 0, before = 0;
        auto const step = [&](Fragment& now, Fragment& next) {
            int const current = position.stage;
            pin(sums);
            now.pin();
            cute::warpgroup_arrive();
            now.template multiply<Config::kTileN>(stages + current * kStageBytes + TileA::kBytes,
                                                  sums[0], k > 0);
            cute::warpgroup_commit_batch();
            position.advance();
            bool const more = k + 1 < k_tiles;
            if (more) {
                ring.full[position.stage].wait(position.phase);
                numbers.load(stages + position.stage * kStageBytes, row, quad);
            }
            cute::warpgroup_wait<1>();
            pin(sums);
            if (k > 0) ring.release(before, arrival);
            before = current;
            if (more && !convert(numbers, next)) {
                cute::warpgroup_wait<0>();
                pin(sums);
                make_room(numbers, sums);
                convert(numbers, next);
            }
            ++k;
            return more;
        };
        while (step(even, odd) && step(odd, even)) {
        }
    }
};

}  // namespace fact::sm90
