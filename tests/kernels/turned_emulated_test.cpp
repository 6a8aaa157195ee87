// Matrices written along other dimensions than they are read, run on the host: every element is
// stored once, and nothing outside of a matrix is read.
#include <gtest/gtest.h>

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

template <int kRows>
void right_for(int batches, int rows, int columns) {
    constexpr int kColumns = kTurnedTile / kRows;
    const auto size = static_cast<std::size_t>(batches * rows * columns);
    std::vector<int> stored(size, 0);
    std::vector<float> found(size, -1.f);
    int outside = 0;
    gridDim.z = 2;
    for (blockIdx.y = 0; blockIdx.y < static_cast<unsigned>((rows + kRows - 1) / kRows);
         ++blockIdx.y)
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
            emulated::run(
                {.grid = (columns + kColumns - 1) / kColumns, .threads = kTurnedThreads}, [&] {
                    turned<kRows>(
                        batches, rows, columns,
                        [&](int batch, int row, int column) {
                            outside += batch >= batches || row < 0 || row >= rows || column < 0 ||
                                       column >= columns;
                            return static_cast<float>((batch * rows + row) * columns + column);
                        },
                        [&](int batch, int row, int column, float value) {
                            outside += batch >= batches || row < 0 || row >= rows || column < 0 ||
                                       column >= columns;
                            return value + 1;
                        },
                        [&](int batch, int row, int column, float value) {
                            const auto at =
                                static_cast<std::size_t>((batch * columns + column) * rows + row);
                            ++stored.at(at);
                            found.at(at) = value;
                        });
                });
    blockIdx.y = blockIdx.z = 0, gridDim.z = 1;
    EXPECT_EQ(outside, 0);
    EXPECT_EQ(stored, std::vector<int>(size, 1));
    for (int batch = 0; batch < batches; ++batch)
        for (int column = 0; column < columns; ++column)
            for (int row = 0; row < rows; ++row)
                ASSERT_EQ(found[static_cast<std::size_t>((batch * columns + column) * rows + row)],
                          static_cast<float>((batch * rows + row) * columns + column + 1))
                    << batch << ' ' << row << ' ' << column;
    EXPECT_EQ(emulated::missed_barriers(), 0);
}

TEST(Turned, EveryElementIsStoredOnce) {
    right_for<64>(3, 64, 64);
    right_for<64>(1, 96, 70);  // the last tiles are not full
    right_for<64>(2, 65, 1);
    right_for<16>(1, 48, 300);
    right_for<16>(1, 20, 256);
}

}  // namespace
}  // namespace fact
