// Attention in one pass on mma.sync: scores of a block of columns, a running softmax in registers,
// and the weighted sum of v, so that no score ever reaches memory. The warps of a thread block
// share what they copy, and each has rows of q of its own; the next block of columns is copied
// while this one is multiplied. For GPUs before sm90, and on sm90 for what TMA cannot address.
#pragma once

#include <utility>

#include "../common/attention_walk.cuh"
#include "../common/soft_cap.cuh"
#include "attention_tiles.cuh"
#include "epilogue.cuh"

namespace fact::sm80 {

// A warp's products of one block of columns.
template <class Config>
struct AttentionProducts {
    using Shapes = AttentionShapes<Config>;
    using Element = typename Config::Element;
    int q_offset, k_offset, v_offset;  // of the lane's fragments in a slab, in bytes

    __device__ AttentionProducts() {
        int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        q_offset = Shapes::RowSlab::lane_offset(lane, warp * Shapes::kWarpRows);
        k_offset = Shapes::KeySlab::lane_offset(lane, 0);
        v_offset = Shapes::ValueSlab::lane_offset(lane, 0);
    }

    // Adds the products of rows of q and keys.
    __device__ void scores(unsigned char const* rows, unsigned char const* keys,
                           typename Shapes::Scores& scores) const {
#pragma unroll
        for (int step = 0; step < Shapes::kSteps; ++step) {
            Fragment a[Shapes::kRowGroups];
#pragma unroll
            for (int i = 0; i < Shapes::kRowGroups; ++i)
                load_matrices<false>(a[i],
                                     rows + step / 4 * Shapes::RowSlab::kBytes +
                                         Shapes::RowSlab::matrix_offset(q_offset, i, step % 4));
#pragma unroll
            for (int j = 0; j < Shapes::kColumns / 16; ++j) {
                Fragment b;
                load_matrices<false>(b, keys + step / 4 * Shapes::KeySlab::kBytes +
                                            Shapes::KeySlab::matrix_offset(k_offset, j, step % 4));
                multiply_all(a, b, scores, j);
            }
        }
    }

    // Adds the weighted sum of the values.
    __device__ void values(typename Shapes::Scores const& weights, unsigned char const* values,
                           typename Shapes::Sums& sums) const {
#pragma unroll
        for (int step = 0; step < Shapes::kColumns / 16; ++step) {
            Fragment a[Shapes::kRowGroups];
#pragma unroll
            for (int i = 0; i < Shapes::kRowGroups; ++i) a[i] = as_fragment(weights[i], step);
#pragma unroll
            for (int j = 0; j < Shapes::kWide; ++j) {
                Fragment b;
                load_matrices<true>(b, values + j / 4 * Shapes::ValueSlab::kBytes +
                                           Shapes::ValueSlab::matrix_offset(v_offset, j % 4, step));
                multiply_all(a, b, sums, j);
            }
        }
    }

  private:
    // Multiplies the j-th group of 16 columns.
    template <int kCount>
    __device__ static void multiply_all(Fragment const (&a)[Shapes::kRowGroups], Fragment const& b,
                                        float (&sums)[Shapes::kRowGroups][kCount], int j) {
#pragma unroll
        for (int i = 0; i < Shapes::kRowGroups; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) multiply<Element>(&sums[i][8 * j + 4 * h], a[i], b, h);
    }

    // Accumulators of scores, packed in pairs, are the left operand of the next product.
    template <int kCount>
    __device__ static Fragment as_fragment(float const (&weights)[kCount], int step) {
        Fragment to;
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int d = 0; d < 2; ++d) {
                int const at = 8 * step + 4 * d + 2 * h;
                to.word[h][d] = pack<Element>(weights[at], weights[at + 1]);
            }
        return to;
    }
};

// A warp's state for one tile of rows, while it goes through the blocks of columns.
template <class Config, class Bias, int kBatches>
struct AttentionRows {
    using Shapes = AttentionShapes<Config>;
    using Added = BlockBias<Config, Bias, kBatches, Shapes::kColumns / 2>;
    struct AllAdded {
        Added of[Shapes::kRowGroups];
    };

    AttentionProducts<Config> const& products;
    Bias const& bias;
    ExtentsOf<kBatches> const& matrix;  // of the scores
    int const (&batch)[kBatches];
    int row;  // the warp's first row
    typename Shapes::Sums sums = {};
    RunningSoftmax<Config> softmax[Shapes::kRowGroups] = {};

    // Where the lane's values begin in the warp's i-th group of 16 rows.
    __device__ SlabOf<kBatches> place(ExtentsOf<kBatches> const& extents, int i, int column) const {
        int const lane = threadIdx.x % 32;
        return {row + 16 * i + lane / 4, column + 2 * (lane % 4), batch, extents};
    }

    // Processes the block of columns that begins at `column`.
    __device__ void take(unsigned char const* q, unsigned char const* stage, int column) {
        int const end = column + Shapes::kColumns;
        if (SightOf<Config>::none(row, row + Shapes::kWarpRows, column, end, matrix.n)) return;
        typename Shapes::Scores scores = {};
        // The bias is loaded before the products, which hide the latency.
        AllAdded const added =
            load_bias(column, std::make_integer_sequence<int, Shapes::kRowGroups>{});
        products.scores(q, stage, scores);
#pragma unroll
        for (int i = 0; i < Shapes::kRowGroups; ++i) {
            SlabOf<kBatches> const at = place(matrix, i, column);
            cap_scores<Config>(scores[i], 1.f);
            added.of[i].add_to(scores[i], kRemainingScale<Config>, bias, at);
            int const first = row + 16 * i;
            if (!SightOf<Config>::whole(first, first + 16, column, end, matrix.n))
                hide<Config>(scores[i], at);
            softmax[i].take(scores[i], 1.f);
            if (softmax[i].shrinks) scale_rows(sums[i], softmax[i].shrink);
        }
        products.values(scores, stage + Shapes::kKBytes, sums);
    }

    template <class To, class LogSums>
    __device__ void store(To const& to, LogSums const& log_sums,
                          ExtentsOf<kBatches> const& output) {
#pragma unroll
        for (int i = 0; i < Shapes::kRowGroups; ++i) {
            float inverse[2];
            softmax[i].finish(inverse);
            log_sums.store(softmax[i], place(output, i, 0));
            scale_rows(sums[i], inverse);
#pragma unroll
            for (int first = 0; first < Shapes::kWide * 8; first += kSlabValues) {
                float values[kSlabValues] = {};  // the last slab may be only half filled
#pragma unroll
                for (int v = 0; v < kSlabValues; ++v)
                    if (first + v < Shapes::kWide * 8) values[v] = sums[i][first + v];
                to.store(place(output, i, first / kSlabValues * kSlabColumns), values);
            }
        }
    }

  private:
    template <int... kGroup>
    __device__ AllAdded load_bias(int column, std::integer_sequence<int, kGroup...>) const {
        return {{Added(bias, place(matrix, kGroup, column))...}};
    }
};

template <class Config, class To, class Bias, int kBatches, class LogSums = NoLogSums>
__device__ void attention(Source<typename Config::Element, kBatches> const& q,
                          Source<typename Config::Element, kBatches> const& k,
                          Source<typename Config::Element, kBatches> const& v, To const& to,
                          AttentionExtentsOf<kBatches> const& extents, Bias const& bias,
                          LogSums const& log_sums = {}) {
    using Shapes = AttentionShapes<Config>;
    constexpr int kRows = Shapes::kRows, kColumns = Shapes::kColumns, kThreads = Shapes::kThreads;
    using Queries = RowCopier<typename Shapes::RowSlab, kRows, Config::kDepth, kThreads>;
    using Keys = RowCopier<typename Shapes::KeySlab, kColumns, Config::kDepth, kThreads>;
    using Values = RowCopier<typename Shapes::ValueSlab, kColumns, Config::kWidth, kThreads>;
    extern __shared__ __align__(128) unsigned char shared[];
    AttentionWalk<kRows, kColumns, SightOf<Config>, kBatches> const walk(extents);
    ExtentsOf<kBatches> const matrix = walk.matrix(extents.columns);
    ExtentsOf<kBatches> const output = walk.matrix(extents.width);
    AttentionProducts<Config> const products;

    walk.each([&](TileAt<kBatches> const& at, SeenBlocks blocks) {
        int const row = at.m * kRows;
        TileAt<kBatches> keys_at = at;  // kRepeats neighbouring heads share their keys and values
        keys_at.batch[Config::kHeads] /= Config::kRepeats;
        Queries queries(q, at.batch, row, extents.rows);
        Keys keys(k, keys_at.batch, blocks.first * kColumns, extents.columns);
        Values values(v, keys_at.batch, blocks.first * kColumns, extents.columns);
        auto const stage = [&](int n) {
            return shared + Shapes::kQBytes + n % 2 * Shapes::kStageBytes;
        };
        auto const copy = [&](int n) {
            keys.copy(stage(n));
            values.copy(stage(n) + Shapes::kKBytes);
            end_group();
        };

        AttentionRows<Config, Bias, kBatches> rows{products, bias, matrix, at.batch,
                                                   row + int(threadIdx.x) / 32 * Shapes::kWarpRows};
        __syncthreads();  // all warps are done with the previous tile
        queries.copy(shared);
        copy(blocks.first);
        for (int n = blocks.first; n <= blocks.last; ++n) {
            // This block of columns has arrived, and all warps are done with the previous one.
            wait_groups<0>();
            __syncthreads();
            if (n < blocks.last) copy(n + 1);
            rows.take(shared, stage(n), n * kColumns);
        }
        rows.store(to, log_sums, output);
    });
}

}  // namespace fact::sm80
