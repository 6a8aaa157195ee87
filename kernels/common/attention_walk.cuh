// The order in which a persistent grid walks the rows of attention.
#pragma once

#include "tiles.cuh"

namespace fact {

template <int kBatches>
struct AttentionExtentsOf {
    int rows, columns, width;  // width: of v and of the output
    int batch[kBatches];
};
using AttentionExtents = AttentionExtentsOf<2>;

// A block takes tiles of rows; of a causal problem a heavy one (late rows see more) and a light one
// of the same head together, so that all turns weigh the same.
template <int kRows, int kColumns, bool kCausal, int kBatches>
struct AttentionWalk {
    AttentionExtentsOf<kBatches> const& extents;
    int tiles, turns, total;

    __device__ explicit AttentionWalk(AttentionExtentsOf<kBatches> const& e)
        : extents(e),
          tiles((e.rows + kRows - 1) / kRows),
          turns(kCausal ? (tiles + 1) / 2 : tiles),
          total(turns) {
#pragma unroll
        for (int i = 0; i < kBatches; ++i) total *= e.batch[i];
    }

    // All rows, of so many columns.
    __device__ ExtentsOf<kBatches> matrix(int columns) const {
        ExtentsOf<kBatches> all{extents.rows, columns, 0, {}};
#pragma unroll
        for (int i = 0; i < kBatches; ++i) all.batch[i] = extents.batch[i];
        return all;
    }

    // Calls visit(place, blocks of columns that are seen) for every tile of this block.
    template <class Visit>
    __device__ void each(Visit visit) const {
        for (int i = blockIdx.x; i < total; i += gridDim.x) {
            int const turn = i % turns;
            TileAt<kBatches> at{tiles - 1 - turn, 0, {}};
            find_in_batch(i / turns, extents.batch, at.batch);
            for (;;) {
                visit(at, blocks(at.m));
                if (!kCausal || at.m == turn) break;
                at.m = turn;
            }
        }
    }

    // How many columns a row sees.
    __device__ int seen(int row) const {
        return kCausal ? min(extents.columns, row + 1) : extents.columns;
    }

  private:
    __device__ int blocks(int m) const {
        return (seen((m + 1) * kRows - 1) + kColumns - 1) / kColumns;
    }
};

}  // namespace fact
