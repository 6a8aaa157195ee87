// The order in which a persistent grid walks the output's tiles.
#pragma once

#include "problem.cuh"

namespace fact {

template <int kBatches>
struct TileAt {
    int m, n, batch[kBatches];  // m and n in tiles
};

// The batch coordinates of matrix `number`; the last dimension runs fastest.
template <int kBatches>
__device__ void find_in_batch(int number, int const (&extents)[kBatches], int (&at)[kBatches]) {
#pragma unroll
    for (int i = kBatches - 1; i > 0; --i) {
        at[i] = number % extents[i];
        number /= extents[i];
    }
    at[0] = number;
}

// Which dimension the raster runs along, and how many tiles of it make a band. Set at the launch:
// one kernel serves every order.
enum class RasterAlong : int { m = 1, n = 2 };
struct WalkOrder {
    RasterAlong raster;
    int band;
};

// The order lets neighbouring thread blocks share operands in L2: a band, which is order.band tiles
// wide along the raster's dimension, is walked to the end of the other before the next begins.
template <int kTileM, int kTileN, int kBatches>
struct TileWalk {
    ExtentsOf<kBatches> const& extents;
    WalkOrder order;
    int tiles_m, tiles_n, total;

    __device__ explicit TileWalk(ExtentsOf<kBatches> const& e, WalkOrder const& o)
        : extents(e),
          order(o),
          tiles_m(count(e.m, kTileM)),
          tiles_n(count(e.n, kTileN)),
          total(tiles_m * tiles_n) {
#pragma unroll
        for (int i = 0; i < kBatches; ++i) total *= e.batch[i];
    }

    __device__ TileAt<kBatches> at(int index) const {
        int const per_batch = tiles_m * tiles_n;
        int const batch = index / per_batch;
        int const within = index - batch * per_batch;
        int const along = along_m() ? tiles_m : tiles_n;
        int const across = along_m() ? tiles_n : tiles_m;
        int const first = within / (order.band * across) * order.band;
        int const width = min(order.band, along - first);
        int const inside = within - first * across;
        int const a = first + inside % width, b = inside / width;
        TileAt<kBatches> tile{along_m() ? a : b, along_m() ? b : a, {}};
        find_in_batch(batch, extents.batch, tile.batch);
        return tile;
    }

  private:
    __device__ bool along_m() const { return order.raster == RasterAlong::m; }
    __device__ static int count(int extent, int tile) { return (extent + tile - 1) / tile; }
};

}  // namespace fact
