// The order in which a persistent grid walks the output's tiles.
#pragma once

#include <cstdint>

namespace fact::sm90 {

struct Extents {
    int m, n, k, batch0, batch1;
};

struct TileAt {
    int m, n, batch0, batch1;  // in tiles, for m and n of this block's own tile
};

// Neighbouring clusters share operands in L2: bands of `kSwizzle` tiles along the raster, walked
// across before the next band begins.
template <class Config>
struct TileWalk {
    int tiles_m, tiles_n, batch1, total;  // in clusters

    __device__ explicit TileWalk(Extents const& e)
        : tiles_m(count(e.m, Config::kTileM * Config::kClusterM)),
          tiles_n(count(e.n, Config::kTileN * Config::kClusterN)),
          batch1(e.batch1),
          total(tiles_m * tiles_n * e.batch0 * e.batch1) {}

    __device__ TileAt at(int index, int rank) const {
        int const per_batch = tiles_m * tiles_n;
        int const batch = index / per_batch;
        int const within = index - batch * per_batch;
        int const along = Config::kRasterAlongM ? tiles_m : tiles_n;
        int const across = Config::kRasterAlongM ? tiles_n : tiles_m;
        int const band = within / (Config::kSwizzle * across);
        int const first = band * Config::kSwizzle;
        int const width = min(Config::kSwizzle, along - first);
        int const inside = within - first * across;
        int const a = first + inside % width, b = inside / width;
        int const m = Config::kRasterAlongM ? a : b, n = Config::kRasterAlongM ? b : a;
        return {m * Config::kClusterM + rank % Config::kClusterM,
                n * Config::kClusterN + rank / Config::kClusterM, batch / batch1, batch % batch1};
    }

  private:
    __device__ static int count(int extent, int tile) { return (extent + tile - 1) / tile; }
};

}  // namespace fact::sm90
