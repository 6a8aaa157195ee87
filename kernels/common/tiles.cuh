// The order in which a persistent grid walks the output's tiles.
#pragma once

#include "problem.cuh"

namespace fact {

template <int kBatches>
struct TileAt {
    int m, n, batch[kBatches];  // m and n in tiles
};

// Where in the batch its number-th matrix is; the last dimension runs fastest.
template <int kBatches>
__device__ void find_in_batch(int number, int const (&extents)[kBatches], int (&at)[kBatches]) {
#pragma unroll
    for (int i = kBatches - 1; i > 0; --i) {
        at[i] = number % extents[i];
        number /= extents[i];
    }
    at[0] = number;
}

// Neighbouring blocks share operands in L2: bands of `kSwizzle` tiles along the raster, walked
// across before the next band begins.
template <int kTileM, int kTileN, bool kRasterAlongM, int kSwizzle, int kBatches>
struct TileWalk {
    ExtentsOf<kBatches> const& extents;
    int tiles_m, tiles_n, total;

    __device__ explicit TileWalk(ExtentsOf<kBatches> const& e)
        : extents(e),
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
        int const along = kRasterAlongM ? tiles_m : tiles_n;
        int const across = kRasterAlongM ? tiles_n : tiles_m;
        int const band = within / (kSwizzle * across);
        int const first = band * kSwizzle;
        int const width = min(kSwizzle, along - first);
        int const inside = within - first * across;
        int const a = first + inside % width, b = inside / width;
        TileAt<kBatches> tile{kRasterAlongM ? a : b, kRasterAlongM ? b : a, {}};
        find_in_batch(batch, extents.batch, tile.batch);
        return tile;
    }

  private:
    __device__ static int count(int extent, int tile) { return (extent + tile - 1) / tile; }
};

}  // namespace fact
