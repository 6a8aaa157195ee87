// The walk of attention, compiled for the host: every tile of rows once, with all blocks of columns
// that some row of it sees and no other, and blocks told apart from those that are seen in part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#ifndef __device__
#define __device__
#endif
namespace fact {
namespace {
struct Place {
    int x;
};
thread_local Place blockIdx, gridDim;
}  // namespace
using std::max;
using std::min;
}  // namespace fact
#include "common/attention_walk.cuh"

namespace fact {
namespace {

constexpr int kRows = 8, kColumns = 4;

template <bool kCausal, int kWindow>
bool sees(int row, int column) {
    return (!kCausal || column <= row) && (kWindow == 0 || std::abs(row - column) < kWindow);
}

template <bool kCausal, int kWindow>
void prove(int rows, int columns, int grid) {
    using Seen = Sight<kCausal, kWindow>;
    SCOPED_TRACE(testing::Message() << rows << " by " << columns << " on " << grid << ", window "
                                    << kWindow << (kCausal ? ", causal" : ""));
    AttentionExtents const extents{rows, columns, 1, {2, 3}};
    std::map<std::vector<int>, int> visits;
    gridDim.x = grid;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
        AttentionWalk<kRows, kColumns, Seen, 2> const walk(extents);
        walk.each([&](TileAt<2> const& at, SeenBlocks blocks) {
            ++visits[{at.m, at.batch[0], at.batch[1]}];
            ASSERT_LE(0, blocks.first);
            ASSERT_LE(blocks.first, blocks.last);
            ASSERT_LT(blocks.last * kColumns, columns);
            for (int n = 0; n * kColumns < columns; ++n) {
                int all = 0, some = 0, row = at.m * kRows, column = n * kColumns;
                for (int i = row; i < row + kRows; ++i)
                    for (int j = column; j < column + kColumns; ++j) {
                        bool const is = j < columns && sees<kCausal, kWindow>(i, j);
                        ++all, some += is;
                    }
                bool const visited = n >= blocks.first && n <= blocks.last;
                // Where nothing is seen at all, one block is visited all the same.
                bool const only = some == 0 && blocks.first == blocks.last;
                ASSERT_TRUE(visited == (some > 0) || only) << n;
                int const row_end = row + kRows, column_end = column + kColumns;
                ASSERT_EQ(Seen::whole(row, row_end, column, column_end, columns), some == all);
                bool const none = Seen::none(row, row_end, column, column_end, columns);
                ASSERT_TRUE(!none || some == 0);
            }
        });
    }
    ASSERT_EQ(std::ssize(visits), (rows + kRows - 1) / kRows * 6);
    for (auto const& [at, times] : visits) ASSERT_EQ(times, 1);
}

template <bool kCausal, int kWindow>
void prove_all() {
    for (int const rows : {1, 7, 8, 24, 61})
        for (int const columns : {1, 4, 9, 24, 61})
            for (int const grid : {1, 5, 200}) prove<kCausal, kWindow>(rows, columns, grid);
}

TEST(AttentionWalk, All) {
    prove_all<false, 0>();
}
TEST(AttentionWalk, Causal) {
    prove_all<true, 0>();
}
TEST(AttentionWalk, CausalWindows) {
    prove_all<true, 1>();
    prove_all<true, 3>();
    prove_all<true, 4>();
    prove_all<true, 17>();
    prove_all<true, 100>();
}
TEST(AttentionWalk, Windows) {
    prove_all<false, 1>();
    prove_all<false, 5>();
    prove_all<false, 16>();
    prove_all<false, 100>();
}

}  // namespace
}  // namespace fact
