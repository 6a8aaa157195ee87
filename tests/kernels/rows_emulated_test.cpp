// Rows that a block's threads reduce together, run on the host: every thread comes to every
// barrier, whatever the number of rows.
#include <gtest/gtest.h>

#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#undef __shared__
#define __shared__ static
#include "common/rows.cuh"

namespace fact {
namespace {

// The sums of a matrix's columns, twice, so that one reduction follows another.
template <class Row>
std::vector<float> sums(int rows, int length, int grid) {
    std::vector<float> values(static_cast<std::size_t>(rows * length)), found(rows, -1.f);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 11);
    emulated::run({.grid = grid, .threads = kRowThreads, .seed = static_cast<unsigned>(rows)}, [&] {
        Row::each_row(rows, [&](int64_t row) {
            const auto at = [&](int64_t i) {
                return values[static_cast<std::size_t>(i * rows + row)];
            };
            const float sum = Row::template reduce<Sum>(length, [&](int64_t i) { return at(i); });
            const float half =
                Row::template reduce<Sum>(length, [&](int64_t i) { return at(i) / 2; });
            Row::once([&] { found[static_cast<std::size_t>(row)] = sum + half; });
        });
    });
    return found;
}

template <class Row>
void right_for(std::initializer_list<int> all_rows, int length) {
    for (const int rows : all_rows)
        for (const int grid : {1, 3}) {
            std::vector<float> expected(rows, 0.f);
            for (int i = 0; i < length; ++i)
                for (int row = 0; row < rows; ++row)
                    expected[row] += 1.5f * static_cast<float>((i * rows + row) % 11);
            EXPECT_EQ(sums<Row>(rows, length, grid), expected) << rows << " rows on " << grid;
        }
    EXPECT_EQ(emulated::missed_barriers(), 0);
}

TEST(Rows, SideBySideLeaveTogether) {
    right_for<ColumnRow>({1, 33, 70}, 37);
}

TEST(Rows, OfABlockLeaveTogether) {
    right_for<BlockRow>({1, 5}, 300);
}

TEST(Rows, OfAThreadAreAllComputed) {
    right_for<ThreadRow>({1, 300}, 3);
}

}  // namespace
}  // namespace fact
