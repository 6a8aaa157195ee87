// Matrices written along other dimensions than they are read, run on the host: every element is
// stored once, and nothing outside of a matrix is read.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#undef __shared__
#define __shared__ static
#include "common/turned.cuh"

namespace fact {
namespace {

template <class Tile>
void right_for(int batches, int rows, int columns) {
    const auto size = static_cast<std::size_t>(batches * rows * columns);
    std::vector<float> from(size), to(size, -1.f);
    std::iota(from.begin(), from.end(), 0.f);
    int outside = 0;
    const auto check = [&](int batch, int row, int column) {
        outside += batch >= batches || row < 0 || row >= rows || column < 0 || column >= columns;
    };
    gridDim.z = 2;
    for (blockIdx.y = 0; blockIdx.y < static_cast<unsigned>((rows + Tile::kRows - 1) / Tile::kRows);
         ++blockIdx.y)
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
            emulated::run({.grid = (columns + Tile::kColumns - 1) / Tile::kColumns,
                           .threads = kTurnedThreads},
                          [&] {
                              turned<Tile>(
                                  batches, rows, columns,
                                  [&](int batch, int row, int column) -> float const& {
                                      check(batch, row, column + Tile::kRead - 1);
                                      return from[static_cast<std::size_t>(
                                          (batch * rows + row) * columns + column)];
                                  },
                                  [&](int batch, int row, int column, float x) {
                                      check(batch, row, column);
                                      return x + static_cast<float>(row - column);
                                  },
                                  [&](int batch, int row, int column) {
                                      check(batch, row + Tile::kWrite - 1, column);
                                      return [=](int i, float x) {
                                          return x - static_cast<float>(row + i - column) + 1;
                                      };
                                  },
                                  [&](int batch, int row, int column) -> float& {
                                      check(batch, row + Tile::kWrite - 1, column);
                                      return to[static_cast<std::size_t>(
                                          (batch * columns + column) * rows + row)];
                                  });
                          });
    blockIdx.y = blockIdx.z = 0, gridDim.z = 1;
    EXPECT_EQ(outside, 0);
    for (int batch = 0; batch < batches; ++batch)
        for (int column = 0; column < columns; ++column)
            for (int row = 0; row < rows; ++row)
                ASSERT_EQ(
                    to[static_cast<std::size_t>((batch * columns + column) * rows + row)],
                    from[static_cast<std::size_t>((batch * rows + row) * columns + column)] + 1)
                    << batch << ' ' << row << ' ' << column;
    EXPECT_EQ(emulated::missed_barriers(), 0);
}

TEST(Turned, EveryElementIsStored) {
    right_for<TurnedTile<64, 1, 1>>(3, 64, 64);
    right_for<TurnedTile<64, 1, 1>>(1, 96, 71);  // the last tiles are not full
    right_for<TurnedTile<64, 1, 1>>(2, 65, 1);
    right_for<TurnedTile<16, 1, 1>>(1, 20, 256);
    right_for<TurnedTile<64, 4, 1>>(2, 65, 68);
    right_for<TurnedTile<64, 1, 4>>(2, 68, 65);
    right_for<TurnedTile<64, 4, 4>>(3, 64, 64);
    right_for<TurnedTile<64, 2, 8>>(1, 72, 70);
    right_for<TurnedTile<16, 8, 4>>(1, 48, 296);
    right_for<TurnedTile<16, 4, 8>>(1, 16, 4);
}

}  // namespace
}  // namespace fact
