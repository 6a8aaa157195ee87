// The skeletons' arithmetic of tiles, compiled for the host: every k-tile of every tile is computed
// by exactly one cluster, whatever the grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#define __device__
namespace fact {
using std::max;
using std::min;
}  // namespace fact
#include "sm90/tiles.cuh"

namespace fact::sm90 {
namespace {

struct Grid {
    int tiles, k_tiles, clusters;
};

// The launcher never starts more clusters than there are k-tiles (PersistentGrid).
std::vector<Grid> grids() {
    std::vector<Grid> all;
    for (const int tiles : {1, 2, 3, 4, 7, 32, 65, 66, 67, 131, 132, 133, 300})
        for (const int k_tiles : {1, 2, 3, 5, 31, 64, 257})
            for (const int clusters : {1, 2, 3, 33, 66, 132})
                all.push_back({tiles, k_tiles, std::min(clusters, tiles * k_tiles)});
    return all;
}

template <Deal kDeal>
void every_k_tile_once() {
    for (const Grid& grid : grids()) {
        SCOPED_TRACE(testing::Message() << grid.tiles << " tiles of " << grid.k_tiles
                                        << " k-tiles on " << grid.clusters << " clusters");
        std::vector<int> times(static_cast<std::size_t>(grid.tiles * grid.k_tiles));
        for (int cluster = 0; cluster < grid.clusters; ++cluster) {
            const DealtTiles<kDeal> work{{grid.tiles, grid.k_tiles, cluster, grid.clusters}};
            for (int i = 0;; ++i) {
                const Stretch stretch = work.at(i);
                if (stretch.k_count == 0) break;
                ASSERT_GE(stretch.k_first, 0);
                ASSERT_LE(stretch.k_first + stretch.k_count, grid.k_tiles);
                for (int k = 0; k < stretch.k_count; ++k)
                    ++times[static_cast<std::size_t>(stretch.tile * grid.k_tiles + stretch.k_first +
                                                     k)];
            }
        }
        ASSERT_EQ(std::count(times.begin(), times.end(), 1), std::ssize(times));
    }
}

TEST(Tiles, WholeTilesAreDealtOnce) {
    every_k_tile_once<Deal::whole>();
}

TEST(Tiles, StreamedTilesAreDealtOnce) {
    every_k_tile_once<Deal::streamed>();
}

TEST(Tiles, DividedTilesAreDealtOnce) {
    every_k_tile_once<Deal::divided>();
}

TEST(Tiles, WhoFinishesAStreamedTileKnowsItsHelpers) {
    for (const Grid& grid : grids()) {
        std::vector<int> others(static_cast<std::size_t>(grid.tiles)), known(others);
        for (int cluster = 0; cluster < grid.clusters; ++cluster) {
            const StreamKTiles work{grid.tiles, grid.k_tiles, cluster, grid.clusters};
            for (int i = 0; work.at(i).k_count > 0; ++i) {
                const Stretch stretch = work.at(i);
                const auto tile = static_cast<std::size_t>(stretch.tile);
                if (stretch.k_first > 0)
                    ++others[tile];
                else
                    known[tile] = work.helpers(stretch);
            }
        }
        ASSERT_EQ(known, others) << grid.tiles << " " << grid.k_tiles << " " << grid.clusters;
    }
}

// Whoever finishes waits for clusters with lower numbers: they have started (start_order.cuh).
TEST(Tiles, HelpersOfAStreamedTileHaveLowerNumbers) {
    for (const Grid& grid : grids())
        for (int cluster = 0; cluster < grid.clusters; ++cluster) {
            const StreamKTiles work{grid.tiles, grid.k_tiles, cluster, grid.clusters};
            for (int i = 0; work.at(i).k_count > 0; ++i) {
                const Stretch stretch = work.at(i);
                const int helpers = stretch.k_first == 0 ? work.helpers(stretch) : 0;
                ASSERT_LE(helpers, cluster);
                for (int h = 1; h <= helpers; ++h) {
                    const StreamKTiles other{grid.tiles, grid.k_tiles, cluster - h, grid.clusters};
                    const Stretch first = other.at(other.waves());
                    ASSERT_EQ(first.tile, stretch.tile);
                    ASSERT_GT(first.k_first, 0);
                }
            }
        }
}

// What the launcher lets pass (kMostCount of launch_plan.h) is numbered without overflow.
TEST(Tiles, AreNumberedUpToTheMost) {
    constexpr int kMost = 2147483647 - 65535, kBlocks = 144;
    const WholeTiles whole{kMost, 1, kBlocks - 1, kBlocks};
    EXPECT_EQ(whole.at((kMost - 1) / kBlocks + 1).k_count, 0);
    const int depth = kMost / (2 * kBlocks);
    const StreamKTiles last{2 * kBlocks - 1, depth, 0, kBlocks};
    const Stretch stretch = last.at(1);
    EXPECT_EQ(stretch.tile, 2 * kBlocks - 2);
    EXPECT_EQ(stretch.k_first + stretch.k_count, depth);
    // As many tiles as there are columns beyond the last 64 that a band may reach.
    const Extents extents{64, kMost, 1, {1, 1}};
    const TileWalk<64, 64, 2> walk(extents, {RasterAlong::m, 64});
    EXPECT_EQ(walk.at(walk.total - 1).n, walk.total - 1);
}

}  // namespace
}  // namespace fact::sm90
