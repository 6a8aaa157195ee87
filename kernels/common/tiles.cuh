// The order in which a persistent grid walks the output's tiles.
#pragma once

#include "problem.cuh"

namespace fact {

struct TileAt {
    int m, n, batch0, batch1;  // m and n in tiles
};

// Neighbouring blocks share operands in L2: bands of `kSwizzle` tiles along the raster, walked
// across before the next band begins.
template <int kTileM, int kTileN, bool kRasterAlongM, int kSwizzle>
struct TileWalk {
    int tiles_m, tiles_n, batch1, total;

    __device__ explicit TileWalk(Extents const& e)
        : tiles_m(count(e.m, kTileM)),
          tiles_n(count(e.n, kTileN)),
          batch1(e.batch1),
          total(tiles_m * tiles_n * e.batch0 * e.batch1) {}

    __device__ TileAt at(int index) const {
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
        return {kRasterAlongM ? a : b, kRasterAlongM ? b : a, batch / batch1, batch % batch1};
    }

  private:
    __device__ static int count(int extent, int tile) { return (extent + tile - 1) / tile; }
};

}  // namespace fact
