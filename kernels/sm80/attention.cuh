// Attention in one pass on mma.sync: scores of a block of columns, a running softmax in registers,
// and the weighted sum of v, so that no score ever reaches memory. A block's warps share what they
// copy and take rows of q each; the next columns are copied while these are multiplied. For GPUs
// before sm90, and on those after for what TMA cannot address.
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
    int q, k, v;  // where the lane finds its fragments

    __device__ AttentionProducts() {
        int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        q = Shapes::RowSlab::lane_offset(lane, warp * Shapes::kWarpRows);
        k = Shapes::KeySlab::lane_offset(lane, 0);
        v = Shapes::ValueSlab::lane_offset(lane, 0);
    }

    // Adds the products of rows and keys.
    __device__ void scores(unsigned char const* rows, unsigned char const* keys,
                           typename Shapes::Scores& scores) const {
#pragma unroll
        for (int step = 0; step < Shapes::kSteps; ++step) {
            Fragment a[Shapes::kBlocks];
#pragma unroll
            for (int i = 0; i < Shapes::kBlocks; ++i)
                load_matrices<false>(a[i], rows + step / 4 * Shapes::RowSlab::kBytes +
                                               Shapes::RowSlab::matrix_offset(q, i, step % 4));
#pragma unroll
            for (int j = 0; j < Shapes::kColumns / 16; ++j) {
                Fragment b;
                load_matrices<false>(b, keys + step / 4 * Shapes::KeySlab::kBytes +
                                            Shapes::KeySlab::matrix_offset(k, j, step % 4));
                multiply_all(a, b, scores, j);
            }
        }
    }

    // Adds the values, weighed.
    __device__ void values(typename Shapes::Scores const& weights, unsigned char const* values,
                           typename Shapes::Sums& sums) const {
#pragma unroll
        for (int step = 0; step < Shapes::kColumns / 16; ++step) {
            Fragment a[Shapes::kBlocks];
#pragma unroll
            for (int i = 0; i < Shapes::kBlocks; ++i) a[i] = as_fragment(weights[i], step);
#pragma unroll
            for (int j = 0; j < Shapes::kWide; ++j) {
                Fragment b;
                load_matrices<true>(b, values + j / 4 * Shapes::ValueSlab::kBytes +
                                           Shapes::ValueSlab::matrix_offset(v, j % 4, step));
                multiply_all(a, b, sums, j);
            }
        }
    }

  private:
    // The j-th sixteen of columns.
    template <int kCount>
    __device__ static void multiply_all(Fragment const (&a)[Shapes::kBlocks], Fragment const& b,
                                        float (&sums)[Shapes::kBlocks][kCount], int j) {
#pragma unroll
        for (int i = 0; i < Shapes::kBlocks; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) multiply<Element>(&sums[i][8 * j + 4 * h], a[i], b, h);
    }

    // Accumulators of scores are, pair by pair, the left operand of the next product.
    template <int kCount>
    __device__ static Fragment as_fragment(float const (&weights)[kCount], int step) {
        Fragment to;
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int d = 0; d < 2; ++d) {
                int const at = 8 * step + 4 * d + 2 * h;
                to.word[h][d] = pack(weights[at], weights[at + 1], Element{});
            }
        return to;
    }
};

// What a warp carries from block to block of one tile of rows.
template <class Config, class Bias, int kBatches>
struct AttentionRows {
    using Shapes = AttentionShapes<Config>;
    using Added = BlockBias<Config, Bias, kBatches, Shapes::kColumns / 2>;
    struct AllAdded {
        Added of[Shapes::kBlocks];
    };

    AttentionProducts<Config> const& products;
    Bias const& bias;
    ExtentsOf<kBatches> const& matrix;  // of scores
    int const (&batch)[kBatches];
    int row;  // the warp's first
    typename Shapes::Sums sums = {};
    RunningSoftmax<Config> softmax[Shapes::kBlocks] = {};

    // Where the lane's values of block i begin.
    __device__ SlabOf<kBatches> place(ExtentsOf<kBatches> const& extents, int i, int column) const {
        int const lane = threadIdx.x % 32;
        return {row + 16 * i + lane / 4, column + 2 * (lane % 4), batch, extents};
    }

    // Takes a block of columns from `column` on.
    __device__ void take(unsigned char const* q, unsigned char const* stage, int column) {
        int const end = column + Shapes::kColumns;
        if (SightOf<Config>::none(row, row + Shapes::kWarpRows, column, end, matrix.n)) return;
        typename Shapes::Scores scores = {};
        // Asked for before the products, which it arrives behind.
        AllAdded const added = ask(column, std::make_integer_sequence<int, Shapes::kBlocks>{});
        products.scores(q, stage, scores);
#pragma unroll
        for (int i = 0; i < Shapes::kBlocks; ++i) {
            SlabOf<kBatches> const at = place(matrix, i, column);
            cap_scores<Config>(scores[i], 1.f);
            added.of[i].add_to(scores[i], kScaleLeft<Config>, bias, at);
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
        for (int i = 0; i < Shapes::kBlocks; ++i) {
            float inverse[2];
            softmax[i].finish(inverse);
            log_sums.store(softmax[i], place(output, i, 0));
            scale_rows(sums[i], inverse);
#pragma unroll
            for (int first = 0; first < Shapes::kWide * 8; first += kSlabValues) {
                float values[kSlabValues] = {};  // the last slab may be half one
#pragma unroll
                for (int v = 0; v < kSlabValues; ++v)
                    if (first + v < Shapes::kWide * 8) values[v] = sums[i][first + v];
                to.store(place(output, i, first / kSlabValues * kSlabColumns), values);
            }
        }
    }

  private:
    template <int... kBlock>
    __device__ AllAdded ask(int column, std::integer_sequence<int, kBlock...>) const {
        return {{Added(bias, place(matrix, kBlock, column))...}};
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
        TileAt<kBatches> keys_at = at;  // heads that share keys are neighbours
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
        __syncthreads();  // nobody reads the tile before any more
        queries.copy(shared);
        copy(blocks.first);
        for (int n = blocks.first; n <= blocks.last; ++n) {
            // These columns have arrived, and nobody reads those before any more.
            wait_groups<0>();
            __syncthreads();
            if (n < blocks.last) copy(n + 1);
            rows.take(shared, stage(n), n * kColumns);
        }
        rows.store(to, log_sums, output);
    });
}

}  // namespace fact::sm80
