// The product on mma.sync: the warps of a thread block copy, multiply and finish a tile together,
// then take the next. For GPUs before sm90, and on sm90 for what TMA cannot address.
#pragma once

#include "epilogue.cuh"
#include "mainloop.cuh"

namespace fact::sm80 {

template <class Config, class To, class Functor, int kBatches>
__device__ void product(Source<typename Config::Element, kBatches> const& a,
                        Source<typename Config::Element, kBatches> const& b, To const& to,
                        ExtentsOf<kBatches> const& extents, WalkOrder const& order,
                        Functor const& functor) {
    using Loop = Mainloop<Config>;
    extern __shared__ __align__(128) unsigned char stages[];
    TileWalk<Config::kTileM, Config::kTileN, kBatches> const walk(extents, order);
    int const k_tiles = (extents.k + Config::kTileK - 1) / Config::kTileK;
    int const warp = threadIdx.x / 32;
    for (int tile = blockIdx.x; tile < walk.total; tile += gridDim.x) {
        TileAt<kBatches> const at = walk.at(tile);
        int const row = at.m * Config::kTileM, column = at.n * Config::kTileN;
        typename Loop::Sums sums;
        Loop::run({a, at.batch, row, extents.m, extents.k},
                  {b, at.batch, column, extents.n, extents.k}, stages, k_tiles, sums);
        finish(functor, to, extents, at, row + warp % Config::kWarpsM * Loop::kWarpRows,
               column + warp / Config::kWarpsM * Loop::kWarpColumns, sums);
    }
}

}  // namespace fact::sm80
