// Which tiles each cluster of a persistent grid computes, and which part of their depth (along K).
#pragma once

#include <cstdint>
#include <type_traits>

#include "../common/tiles.cuh"

namespace fact::sm90 {

// Products that are side by side in one tile: one, unless Config has kProducts = 2.
template <class Config, class = void>
inline constexpr int kProducts = 1;
template <class Config>
inline constexpr int kProducts<Config, std::void_t<decltype(Config::kProducts)>> =
    Config::kProducts;
// Columns of the output that a tile covers.
template <class Config>
inline constexpr int kTileColumns = Config::kTileN / kProducts<Config>;

template <class Config, int kBatches>
using ClusterTiles = TileWalk<Config::kTileM * Config::kClusterM,
                              kTileColumns<Config> * Config::kClusterN, kBatches>;

// Walks the tiles of whole clusters; a thread block's own tile follows from its rank.
template <class Config, int kBatches>
struct ClusterWalk : ClusterTiles<Config, kBatches> {
    using Tiles = ClusterTiles<Config, kBatches>;
    using Tiles::Tiles;

    __device__ TileAt<kBatches> at(int index, int rank) const {
        TileAt<kBatches> tile = Tiles::at(index);
        tile.m = tile.m * Config::kClusterM + rank % Config::kClusterM;
        tile.n = tile.n * Config::kClusterN + rank / Config::kClusterM;
        return tile;
    }
};

// Some or all of one output tile's depth, in k-tiles.
struct Stretch {
    int tile, k_first, k_count;
};

// What one cluster of the grid computes, stretch by stretch. Here cluster c computes the tiles c,
// c + clusters, c + 2 * clusters and so on, each whole.
struct WholeTiles {
    int tiles, k_tiles, cluster, clusters;

    // The cluster's i-th stretch; k_count is 0 past the last one.
    __device__ Stretch at(int i) const {
        int const tile = cluster + i * clusters;
        return {tile, 0, tile < tiles ? k_tiles : 0};
    }
};

// Stream-K: the same, but if the tiles do not make whole waves, the last of them are laid end to
// end along their depth and cut into equal spans, one per cluster, so that all clusters end
// together. If there are at least as many tiles as clusters, a span is at least one tile long.
struct StreamKTiles {
    int tiles, k_tiles, cluster, clusters;

    __device__ int waves() const {  // of whole tiles
        int const full = tiles / clusters;
        return full * clusters == tiles ? full : max(full - 1, 0);
    }
    // Spans are assigned in reverse start order (start_order.cuh): the cluster that finishes a tile
    // started after those it waits for, so they are running.
    __device__ int span() const { return clusters - 1 - cluster; }
    // Where a span begins, in k-tiles from the first tile that is cut.
    __device__ int begin(int span) const { return static_cast<int>(depth() * span / clusters); }
    __device__ Stretch at(int i) const {
        int const whole = waves();
        if (i < whole) return {cluster + i * clusters, 0, k_tiles};
        int const from = begin(span()), to = begin(span() + 1);
        int const tile = from / k_tiles + i - whole;
        int const first = max(from - tile * k_tiles, 0), end = min(to - tile * k_tiles, k_tiles);
        return {whole * clusters + tile, first, max(end - first, 0)};
    }
    // How many spans after this one reach into the tile of the stretch.
    __device__ int helpers(Stretch const& stretch) const {
        if (stretch.k_count == k_tiles) return 0;
        int64_t const end = static_cast<int64_t>(stretch.tile - waves() * clusters + 1) * k_tiles;
        return static_cast<int>((end * clusters - 1) / depth()) - span();
    }

  private:
    __device__ int64_t depth() const {  // of all tiles that are cut
        return static_cast<int64_t>(tiles - waves() * clusters) * k_tiles;
    }
};

// Split-K: each tile is cut along K into min(clusters / tiles, k_tiles) equal parts, one per
// cluster. If that is less than two, tiles are computed whole.
struct SplitKTiles {
    int tiles, k_tiles, cluster, clusters;

    __device__ int parts() const { return min(max(clusters / tiles, 1), k_tiles); }
    __device__ int part() const { return cluster % parts(); }
    __device__ Stretch at(int i) const {
        int const cut = parts();
        if (cut == 1) return WholeTiles{tiles, k_tiles, cluster, clusters}.at(i);
        if (i > 0 || cluster >= tiles * cut) return {0, 0, 0};
        int const tile = cluster / cut, part = cluster - tile * cut;
        int const depth = k_tiles / cut;
        int const longer = k_tiles - depth * cut;  // how many parts have one k-tile more
        return {tile, part * depth + min(part, longer), depth + (part < longer)};
    }
};

// How the tiles of a problem are dealt out to clusters: whole, by stream-K or by split-K.
enum class Deal { whole, streamed, divided };

template <Deal kDeal>
struct DealtTiles;
template <>
struct DealtTiles<Deal::whole> : WholeTiles {};
template <>
struct DealtTiles<Deal::streamed> : StreamKTiles {};
template <>
struct DealtTiles<Deal::divided> : SplitKTiles {};

}  // namespace fact::sm90
