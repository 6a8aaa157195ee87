// The order in which a persistent grid walks the rows of attention.
#pragma once

#include "sight.cuh"
#include "tiles.cuh"

namespace fact {

template <int kBatches>
struct AttentionExtentsOf {
    int rows, columns, width;  // width: of v and of the output
    int batch[kBatches];
};
using AttentionExtents = AttentionExtentsOf<2>;

// The blocks of columns of which a tile of rows sees any part.
struct SeenBlocks {
    int first, last;
};

// Which tiles of rows a thread block computes. If late rows see more columns, one turn is a heavy
// and a light tile of the same head, so that all turns cost the same.
template <int kRows, int kColumns, class Sight, int kBatches>
struct AttentionWalk {
    AttentionExtentsOf<kBatches> const& extents;
    bool pairs;        // whether a turn is two tiles
    int tiles, turns;  // of one matrix of the batch
    int total;         // turns of the whole batch

    __device__ explicit AttentionWalk(AttentionExtentsOf<kBatches> const& e)
        : extents(e),
          pairs(Sight::grows(e.rows)),
          tiles((e.rows + kRows - 1) / kRows),
          turns(pairs ? (tiles + 1) / 2 : tiles),
          total(turns) {
#pragma unroll
        for (int i = 0; i < kBatches; ++i) total *= e.batch[i];
    }

    // The extents of a matrix with all rows and `columns` columns.
    __device__ ExtentsOf<kBatches> matrix(int columns) const {
        ExtentsOf<kBatches> all{extents.rows, columns, 0, {}};
#pragma unroll
        for (int i = 0; i < kBatches; ++i) all.batch[i] = extents.batch[i];
        return all;
    }

    // Calls visit(place, blocks of columns) for every tile of this thread block.
    template <class Visit>
    __device__ void each(Visit visit) const {
        for (int i = blockIdx.x; i < total; i += gridDim.x) {
            int const turn = i % turns;
            TileAt<kBatches> at{tiles - 1 - turn, 0, {}};
            find_in_batch(i / turns, extents.batch, at.batch);
            for (;;) {
                visit(at, blocks(at.m));
                if (!pairs || at.m == turn) break;
                at.m = turn;
            }
        }
    }

    // The end of the columns that a row sees.
    __device__ int end(int row) const { return Sight::end(row, extents.columns); }

    // At least one block, even if all columns are before the window.
    __device__ SeenBlocks blocks(int m) const {
        int const last = (end((m + 1) * kRows - 1) - 1) / kColumns;
        return {Sight::kSkips ? min(Sight::first(m * kRows) / kColumns, last) : 0, last};
    }
};

}  // namespace fact
