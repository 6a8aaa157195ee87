// The product of one output tile: copies run ahead of the products by all stages but one, and each
// step's fragments are read while the previous step is multiplied.
//
// f32 operands are multiplied as TF32, as accurately as f32 arithmetic: each number is split into a
// large and a small TF32 part, the three products that matter are summed, small ones first, and
// every k-tile's sum is added to f32 registers before the tensor core's rounding can build up. With
// kParts = 1, operands are rounded to TF32 and multiplied once.
#pragma once

#include <type_traits>

#include "../common/tiles.cuh"
#include "operand_tile.cuh"

namespace fact::sm80 {

template <class Config>
inline constexpr int kThreads = Config::kWarpsM * Config::kWarpsN * 32;

template <class Config>
struct Mainloop {
    using Element = typename Config::Element;
    static constexpr bool kSingle = std::is_same_v<Element, float>;
    using LayoutA = StageLayout<Element, Config::kMajorA, Config::kTileM, Config::kTileK>;
    using LayoutB = StageLayout<Element, Config::kMajorB, Config::kTileN, Config::kTileK>;
    using CopierA = TileCopier<LayoutA, Config::kCopyBytesA, kThreads<Config>>;
    using CopierB = TileCopier<LayoutB, Config::kCopyBytesB, kThreads<Config>>;
    static constexpr int kStages = Config::kStages;
    static constexpr int kStageBytes = LayoutA::kBytes + LayoutB::kBytes;
    static constexpr int kSteps = Config::kTileK / LayoutA::kDepth;
    static_assert(kSteps % 2 == 0);  // fragments alternate between two sets of registers

    // A warp's part of the tile, and its sums: one row of `Sums` for every 16 rows of the tile.
    static constexpr int kWarpRows = Config::kTileM / Config::kWarpsM;
    static constexpr int kWarpColumns = Config::kTileN / Config::kWarpsN;
    static constexpr int kGroupsM = kWarpRows / 16, kGroupsN = kWarpColumns / 16;
    using Sums = float[kGroupsM][kWarpColumns / 2];

    // A long sum in the tensor core loses bits: after this many k-tiles it is added to `total`, if
    // the warp has registers for both.
    static constexpr int kChunk = kSingle ? 1 : 512;
    static constexpr bool kTwoLevels = kSingle || kGroupsM * kWarpColumns / 2 <= 32;

    // A place in the ring of stages.
    struct Stage {
        unsigned char* stages;
        int offset = 0;
        __device__ unsigned char* at() const { return stages + offset; }
        __device__ void advance() {
            offset = offset == (kStages - 1) * kStageBytes ? 0 : offset + kStageBytes;
        }
    };

    // The fragments that a warp multiplies in one step.
    struct Step {
        Fragment a[kGroupsM], b[kGroupsN];
    };

    __device__ static void run(CopierA a, CopierB b, unsigned char* stages, int k_tiles,
                               Sums& sums) {
        Stage reading{stages}, writing{stages};
        auto const copy = [&](int k) {
            if (k < k_tiles) {
                a.copy(writing.at());
                b.copy(writing.at() + LayoutA::kBytes);
                writing.advance();
            }
            end_group();  // an empty group too: wait_groups counts them
        };
        for (int k = 0; k < kStages - 1; ++k) copy(k);
        clear(sums);
        Sums total;
        if constexpr (kTwoLevels) clear(total);

        wait_groups<kStages - 2>();
        __syncthreads();
        Lane const lane;
        Step steps[2];
        read(steps[0], reading.at(), lane, 0);
        for (int k = 0; k < k_tiles; ++k) {
#pragma unroll
            for (int step = 0; step < kSteps; ++step) {
                if (step + 1 == kSteps) {
                    // The next stage has arrived, and all warps are done with this one. After the
                    // last k-tile there is no next stage: what is read then is not used.
                    wait_groups<kStages - 2>();
                    __syncthreads();
                    reading.advance();
                }
                read(steps[(step + 1) % 2], reading.at(), lane, (step + 1) % kSteps);
                if (step == 0) copy(k + kStages - 1);
                products(steps[step % 2], sums);
            }
            if constexpr (kTwoLevels)
                if ((k + 1) % kChunk == 0) {
                    add(total, sums);
                    clear(sums);
                }
        }
        if constexpr (kTwoLevels) add(sums, total);
    }

  private:
    // Offsets of a lane's fragments in a stage, in bytes.
    struct Lane {
        int a, b;
        __device__ Lane() {
            int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
            a = LayoutA::lane_offset(lane, warp % Config::kWarpsM * kWarpRows);
            b = LayoutA::kBytes + LayoutB::lane_offset(lane, warp / Config::kWarpsM * kWarpColumns);
        }
    };

    __device__ static void read(Step& to, unsigned char const* stage, Lane const& lane, int step) {
#pragma unroll
        for (int i = 0; i < kGroupsM; ++i) read<LayoutA>(to.a[i], stage, lane.a, i, step);
#pragma unroll
        for (int j = 0; j < kGroupsN; ++j) read<LayoutB>(to.b[j], stage, lane.b, j, step);
    }

    template <class Layout>
    __device__ static void read(Fragment& to, unsigned char const* stage, int lane, int block,
                                int step) {
        if constexpr (Layout::kByWords) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
                to.word[i / 2][i % 2] = *reinterpret_cast<uint32_t const*>(
                    stage + Layout::word_offset(lane, block, step, i / 2, i % 2));
        } else {
            load_matrices<Layout::kMajor == Major::mn>(
                to, stage + Layout::matrix_offset(lane, block, step));
        }
    }

    __device__ static void products(Step const& step, Sums& sums) {
        if constexpr (kSingle) {
            Fragment large[kGroupsM], small[kGroupsM];
#pragma unroll
            for (int i = 0; i < kGroupsM; ++i) split(step.a[i], large[i], small[i]);
#pragma unroll
            for (int j = 0; j < kGroupsN; ++j) {
                Fragment large_b, small_b;
                split(step.b[j], large_b, small_b);
                if constexpr (Config::kParts == 2) {
                    products(small, large_b, sums, j);
                    products(large, small_b, sums, j);
                }
                products(large, large_b, sums, j);
            }
        } else {
#pragma unroll
            for (int j = 0; j < kGroupsN; ++j) products(step.a, step.b[j], sums, j);
        }
    }

    __device__ static void products(Fragment const (&a)[kGroupsM], Fragment const& b, Sums& sums,
                                    int j) {
#pragma unroll
        for (int i = 0; i < kGroupsM; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) multiply<Element>(&sums[i][8 * j + 4 * h], a[i], b, h);
    }

    __device__ static void split(Fragment const& x, Fragment& large, Fragment& small) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float const value = __uint_as_float(x.word[i / 2][i % 2]);
            uint32_t const bits = to_tf32(value);
            large.word[i / 2][i % 2] = bits;
            small.word[i / 2][i % 2] = to_tf32(value - __uint_as_float(bits));
        }
    }

    __device__ static void clear(Sums& sums) {
#pragma unroll
        for (auto& row : sums)
#pragma unroll
            for (float& x : row) x = 0.f;
    }
    __device__ static void add(Sums& to, Sums const& more) {
#pragma unroll
        for (int i = 0; i < kGroupsM; ++i)
#pragma unroll
            for (int j = 0; j < kWarpColumns / 2; ++j) to[i][j] += more[i][j];
    }
};

}  // namespace fact::sm80
