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
#include "common/scan.cuh"

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
                return values.at(static_cast<std::size_t>(i * rows + row));
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
    right_for<ColumnRow>({3}, 600);
}

// Columns minus their sums.
template <int kLength>
void held_right_for(std::initializer_list<int> all_rows) {
    for (const int rows : all_rows)
        for (const int grid : {1, 3}) {
            std::vector<float> expected(static_cast<std::size_t>(rows) * kLength);
            std::vector<float> found(expected.size(), -1.f);
            const auto value = [](std::size_t at) { return static_cast<float>(at % 11); };
            for (int row = 0; row < rows; ++row) {
                float sum = 0;
                for (int i = 0; i < kLength; ++i)
                    sum += value(static_cast<std::size_t>(i * rows + row));
                for (int i = 0; i < kLength; ++i) {
                    const auto at = static_cast<std::size_t>(i * rows + row);
                    expected[at] = value(at) - sum;
                }
            }
            emulated::run(
                {.grid = grid, .threads = kRowThreads, .seed = static_cast<unsigned>(rows)}, [&] {
                    ColumnRow::each_row(rows, [&](int64_t row) {
                        const auto place = [&](int64_t i) {
                            return static_cast<std::size_t>(i * rows + row);
                        };
                        const auto x =
                            ColumnRow::hold<kLength>([&](int i) { return value(place(i)); });
                        const float sum =
                            ColumnRow::reduce<Sum, kLength>([&](int i) { return x(i); });
                        ColumnRow::each<kLength>([&](int i) { found.at(place(i)) = x(i) - sum; });
                    });
                });
            EXPECT_EQ(found, expected) << rows << " rows of " << kLength << " on " << grid;
        }
    EXPECT_EQ(emulated::missed_barriers(), 0);
}

TEST(Rows, SideBySideAreHeld) {
    held_right_for<1>({1, 33});
    held_right_for<37>({1, 33, 70});
    held_right_for<256>({3});
}

TEST(Rows, OfABlockLeaveTogether) {
    right_for<BlockRow>({1, 5}, 300);
}

TEST(Rows, OfAThreadAreAllComputed) {
    right_for<ThreadRow>({1, 300}, 3);
}

// Running sums of a matrix's columns, after their sums: small whole numbers, which f32 adds
// exactly.
template <class Row>
void scans_right_for(std::initializer_list<int> all_rows, std::initializer_list<int> lengths) {
    for (const int length : lengths)
        for (const int rows : all_rows)
            for (const int grid : {1, 3}) {
                int outside = 0;
                const auto value = [&](int64_t i, int64_t row) {
                    outside += i < 0 || i >= length;
                    return static_cast<float>((i * rows + row) % 5);
                };
                const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(length);
                std::vector<float> expected(size), found(size, -1.f);
                for (int row = 0; row < rows; ++row) {
                    float sum = 0, running = 0;
                    for (int i = 0; i < length; ++i) sum += value(i, row);
                    for (int i = 0; i < length; ++i) {
                        running += value(i, row);
                        expected[static_cast<std::size_t>(i * rows + row)] = running + sum;
                    }
                }
                emulated::run(
                    {.grid = grid, .threads = kRowThreads, .seed = static_cast<unsigned>(rows)},
                    [&] {
                        Row::each_row(rows, [&](int64_t row) {
                            const auto at = [&](int64_t i) { return value(i, row); };
                            const float sum = Row::template reduce<Sum>(length, at);
                            Row::template scan<Sum>(length, at, [&](int64_t i, float running) {
                                found[static_cast<std::size_t>(i * rows + row)] = running + sum;
                            });
                        });
                    });
                EXPECT_EQ(found, expected) << rows << " rows of " << length << " on " << grid;
                EXPECT_EQ(outside, 0);
            }
    EXPECT_EQ(emulated::missed_barriers(), 0);
}

TEST(Scan, OfABlock) {
    scans_right_for<BlockScan>({1, 5}, {1, 300, 2048, 4500});
}

TEST(Scan, SideBySide) {
    scans_right_for<ColumnScan>({1, 33, 70}, {3, 128, 300});
}

TEST(Scan, OfAThread) {
    scans_right_for<ThreadScan>({1, 300}, {1, 7, 8, 19});
}

TEST(Scan, OfProducts) {
    EXPECT_EQ(Product::combine(3.f, 4.f), 12.f);
    EXPECT_EQ(Product::combine(Product::identity<float>(), 4.f), 4.f);
}

}  // namespace
}  // namespace fact
