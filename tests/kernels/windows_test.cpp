// The skeletons' arithmetic of windows, compiled for the host: a product over windows reads every
// element that a convolution does, and the weights' rows that go with it.
#include <gtest/gtest.h>

#include <vector>

#define __device__
#include "common/windows.cuh"

namespace fact {
namespace {

TEST(Windows, RowsArePlacesImageByImage) {
    const Windows<Along<3, 2, 1, 1>, Along<2, 1, 3, 0>> windows{64, {5, 4}};
    int row = 0;
    for (int image = 0; image < 3; ++image)
        for (int p = 0; p < 4; ++p)
            for (int q = 0; q < 5; ++q, ++row) {
                const auto at = windows.place(row, 0);
                EXPECT_EQ(at.image, image);
                EXPECT_EQ(at.first[0], 2 * q - 1);
                EXPECT_EQ(at.first[1], p);
            }
    // Images as a batch dimension: rows beyond the last place belong to the next image.
    EXPECT_EQ(windows.place(19, 7).image, 7);
    EXPECT_EQ(windows.place(20, 7).image, 8);
}

TEST(Windows, ColumnsAreTapsInBlocksOfChannels) {
    const Windows<Along<3, 2, 1, 1>, Along<2, 1, 3, 0>> windows{96, {5, 4}};
    int column = 0;
    for (int r = 0; r < 2; ++r)
        for (int s = 0; s < 3; ++s)
            for (int channel = 0; channel < 96; channel += 64, column += 64) {
                const auto tap = windows.tap<64>(column);
                EXPECT_EQ(tap.offset[0], s);
                EXPECT_EQ(tap.offset[1], 3 * r);
                EXPECT_EQ(tap.channel, channel);
                EXPECT_EQ(tap.row, (r * 3 + s) * 96 + channel);
            }
}

TEST(Windows, RowsThatOverlapAreTapsAndTheirChannels) {
    // Windows of 3 x 2 x 4 taps over images [7, 6, 9] of 8 channels.
    using Rows = OverlappingRows<32, 2, 3>;
    constexpr int kChannels = 8, kHeight = 6, kWidth = 9;
    int column = 0;
    for (int t = 0; t < 3; ++t)
        for (int r = 0; r < 2; ++r)
            for (int s = 0; s < 4; ++s)
                for (int c = 0; c < kChannels; ++c, ++column) {
                    const auto tap = Rows::tap(column);
                    EXPECT_EQ(tap.outer[0], r);
                    EXPECT_EQ(tap.outer[1], t);
                    // The element of the window at (o, p, q), in the row of that place.
                    const int o = 4, p = 3, q = 5, row = (o * kHeight + p) * kWidth + q;
                    const int of_taps = (tap.outer[1] * kHeight + tap.outer[0]) * kWidth;
                    EXPECT_EQ((row + of_taps) * kChannels + tap.column,
                              (((o + t) * kHeight + p + r) * kWidth + q + s) * kChannels + c);
                }
    EXPECT_EQ(OverlappingRows<64>::tap(33).column, 33);
}

// Going on from every block of columns is what dividing finds for the next, also past the last one:
// sums are cut along K anywhere.
template <int kDepth, class Windows>
void goes_on_as_it_divides(const Windows& windows, int taps) {
    const int blocks = taps * ((windows.channels + kDepth - 1) / kDepth);
    for (int first = 0; first < blocks; ++first) {
        auto at = windows.template tap<kDepth>(first * kDepth);
        for (int block = first; block < blocks; ++block) {
            const auto tap = windows.template tap<kDepth>(block * kDepth);
            ASSERT_EQ(at.channel, tap.channel) << first << ' ' << block;
            ASSERT_EQ(at.row, tap.row) << first << ' ' << block;
            for (int i = 0; i < Windows::kDims; ++i)
                ASSERT_EQ(at.offset[i], tap.offset[i]) << first << ' ' << block << ' ' << i;
            windows.template advance<kDepth>(at);
        }
        for (const int offset : at.offset) EXPECT_EQ(offset, 0);
    }
}

TEST(Windows, ColumnsGoOnWithoutDividing) {
    for (const int channels : {8, 32, 64, 72, 96, 128, 200}) {
        goes_on_as_it_divides<64>(fact::Windows<Along<1, 1, 1, 0>>{channels, {9}}, 1);
        goes_on_as_it_divides<64>(fact::Windows<Along<5, 2, 3, 2>>{channels, {9}}, 5);
        goes_on_as_it_divides<32>(
            fact::Windows<Along<3, 2, 1, 1>, Along<2, 1, 3, 0>>{channels, {5, 4}}, 6);
        goes_on_as_it_divides<32>(
            fact::Windows<Along<1, 1, 1, 0>, Along<3, 1, 2, 2>>{channels, {7, 7}}, 3);
        goes_on_as_it_divides<64>(
            fact::Windows<Along<3, 1, 1, 0>, Along<2, 1, 4, 0>, Along<3, 2, 2, 1>>{channels,
                                                                                   {6, 5, 4}},
            18);
    }
}

template <class Rows>
void rows_go_on_as_they_divide(int columns) {
    constexpr int kDepth = 32;
    for (int first = 0; first < columns; first += kDepth) {
        auto at = Rows::tap(first);
        for (int column = first; column < columns; column += kDepth) {
            const auto tap = Rows::tap(column);
            ASSERT_EQ(at.column, tap.column) << first << ' ' << column;
            for (int i = 0; i < Rows::kOuter; ++i)
                ASSERT_EQ(at.outer[i], tap.outer[i]) << first << ' ' << column << ' ' << i;
            Rows::template advance<kDepth>(at);
        }
    }
}

TEST(Windows, RowsThatOverlapGoOnWithoutDividing) {
    rows_go_on_as_they_divide<OverlappingRows<64>>(64);
    rows_go_on_as_they_divide<OverlappingRows<32, 3>>(96);
    rows_go_on_as_they_divide<OverlappingRows<96, 2, 3>>(96 * 6);
    rows_go_on_as_they_divide<OverlappingRows<64, 1, 4>>(64 * 4);
}

TEST(Windows, OneAndThreeDimensions) {
    const Windows<Along<4, 1, 2, 3>> line{8, {10}};
    EXPECT_EQ(line.place(23, 0).first[0], 0);
    EXPECT_EQ(line.place(23, 0).image, 2);
    EXPECT_EQ(line.tap<64>(64 * 3).offset[0], 6);
    const Windows<Along<3, 1, 1, 0>, Along<3, 1, 1, 0>, Along<3, 2, 1, 1>> volume{64, {6, 5, 4}};
    const auto at = volume.place(((1 * 4 + 2) * 5 + 3) * 6 + 4, 0);
    EXPECT_EQ(at.first[0], 4);
    EXPECT_EQ(at.first[1], 3);
    EXPECT_EQ(at.first[2], 3);
    EXPECT_EQ(at.image, 1);
    const auto tap = volume.tap<64>(64 * ((2 * 3 + 0) * 3 + 1));
    EXPECT_EQ(tap.offset[0], 1);
    EXPECT_EQ(tap.offset[1], 0);
    EXPECT_EQ(tap.offset[2], 2);
}

}  // namespace
}  // namespace fact
