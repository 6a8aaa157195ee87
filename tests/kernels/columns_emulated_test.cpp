// Whole rows in one thread, several that are neighbours in memory, run on the host as the emitter
// writes them.
#include <gtest/gtest.h>

#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#undef __shared__
#define __shared__ static
#include "common/columns.cuh"

namespace fact {
namespace {

// x[length, rows], 16 bytes from any other.
class Matrix {
  public:
    Matrix(int length, int rows)
        : rows_(rows), memory_(static_cast<std::size_t>(length * rows + 8), -1.f) {
        const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        start_ = memory_.data() + (16 - at % 16) % 16 / sizeof(float);
    }
    float& operator()(int at, int row) const { return start_[at * rows_ + row]; }

  private:
    int rows_;
    std::vector<float> memory_;
    float* start_;
};

// The largest element of each row, then the elements divided by the sum of the row.
template <int kNeighbours, int kLength>
void right_for(int rows, int grid) {
    using Rows = Columns<kNeighbours>;
    using F = Functions<float>;
    const Matrix x(kLength, rows), most(1, rows), held_most(1, rows), y(kLength, rows);
    for (int at = 0; at < kLength; ++at)
        for (int row = 0; row < rows; ++row)
            x(at, row) = static_cast<float>((at * 37 + row * 11) % 101 + 1);
    int longest = 0;
    emulated::run({.grid = grid, .threads = kColumnThreads}, [&] {
        Rows::each_row(rows, [&](int row) {
            auto const largest = Rows::template reduce<Max, kLength>([&](int at) {
                longest = std::max(longest, at + 1);
                auto const here = neighbours<kNeighbours>(x(at, row));
                return Rows::values([&](int i) { return here[i]; });
            });
            Rows::store(most(0, row), [&](int i) { return largest[i]; });
        });
    });
    emulated::run({.grid = grid, .threads = kColumnThreads}, [&] {
        Rows::each_row(rows, [&](int row) {
            auto const here = Rows::template hold<kLength>(
                [&](int at) { return neighbours<kNeighbours>(x(at, row)); });
            auto const largest = Rows::template reduce_held<Max, kLength>(
                [&](int at) { return Rows::values([&](int i) { return here(at)[i]; }); });
            auto const sum = Rows::template reduce_held<Sum, kLength>(
                [&](int at) { return Rows::values([&](int i) { return here(at)[i]; }); });
            auto const divisor = Rows::values([&](int i) { return Divisor(sum[i]); });
            auto const to = [&](int at) -> auto& { return y(at, row); };
            Rows::store(held_most(0, row), [&](int i) { return largest[i]; });
            Rows::template write<kLength>(to, [&](int at) {
                return Rows::values([&](int i) { return F::divide(here(at)[i], divisor[i]); });
            });
        });
    });
    EXPECT_EQ(longest, kLength);
    for (int row = 0; row < rows; ++row) {
        float sum = 0, largest = 0;
        for (int at = 0; at < kLength; ++at) {
            sum += x(at, row);
            largest = std::max(largest, x(at, row));
        }
        ASSERT_EQ(most(0, row), largest) << row << " of " << rows << ", " << kLength << " long";
        ASSERT_EQ(held_most(0, row), largest) << row << " of " << rows;
        for (int at = 0; at < kLength; ++at)
            ASSERT_EQ(y(at, row), x(at, row) / sum) << at << " of row " << row << " of " << rows;
    }
}

template <int kNeighbours>
void right_for_lengths() {
    right_for<kNeighbours, 7>(kNeighbours, 1);
    for (const int grid : {1, 2}) {
        right_for<kNeighbours, 32>(129 * kNeighbours, grid);
        right_for<kNeighbours, 77>(300 * kNeighbours, grid);
    }
}

TEST(Columns, OneInAThread) {
    right_for_lengths<1>();
}

TEST(Columns, SeveralInAThread) {
    right_for_lengths<2>();
    right_for_lengths<4>();
}

}  // namespace
}  // namespace fact
