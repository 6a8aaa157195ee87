// Boxes of results stored where the emitted `Places` says, compiled for the host: every element of
// a tile is written there, and nothing else is.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#define __device__
#define __builtin_assume(x)
#include "sm90/scatter.cuh"

namespace fact::sm90 {
namespace {

// Stores all boxes of acc[B, m, n], whose elements are `value(batch, row, column)`.
template <class T, class Places, class Value>
void scatter_all(const Places& places, const Extents& extents, const Value& value) {
    constexpr int kColumns = kBoxRowBytes / static_cast<int>(sizeof(T));
    alignas(1024) unsigned char box[kBoxRows * kBoxRowBytes];
    for (int batch = 0; batch < extents.batch[0]; ++batch)
        for (int row = 0; row < extents.m + kBoxRows; row += kBoxRows)  // the last ones are outside
            for (int column = 0; column < extents.n; column += kColumns) {
                for (int r = 0; r < kBoxRows; ++r)
                    for (int c = 0; c < kColumns; ++c)
                        reinterpret_cast<T&>(box[place_in_box<T>(r, c)]) =
                            static_cast<T>(value(batch, row + r, column + c));
                const int at[2] = {batch, 0};
                for (int lane = 0; lane < 32; ++lane)
                    scatter<T>(box, places, row, column, at, extents, lane);
            }
}

// acc[B, F*2*kRows, I*I2] as y[B, F, I*2, I2*kRows], less kCut elements at each end, as the emitter
// writes it.
template <class T, int kRows, int kCut, int kStored>
struct Phases {
    static constexpr int kRowsTogether = 16 % kRows == 0 ? kRows : 1, kStoredTogether = kStored;
    static constexpr bool kRowsAdd = kBoxRows % (2 * kRows) == 0, kColumnsAdd = false;
    T* data;
    int64_t stride_0, stride_1, stride_2;
    int i2, p, q;

    struct Part {
        int64_t offset;
        int at_2, at_3;
        Part operator+(Part const& more) const {
            return {offset + more.offset, at_2 + more.at_2, at_3 + more.at_3};
        }
    };
    Part row(int row, int const* batch) const {
        int const at_2 = row / kRows % 2, at_3 = row % kRows;
        return {batch[0] * stride_0 + row / (2 * kRows) * stride_1 + at_2 * stride_2 + at_3, at_2,
                at_3};
    }
    Part column(int column) const {
        int const at_2 = column / i2 * 2 - kCut, at_3 = column % i2 * kRows - kCut;
        return {at_2 * stride_2 + at_3, at_2, at_3};
    }
    bool holds(Part const& at) const { return within(at.at_2, p) && within(at.at_3, q); }
};

template <class T, int kRows, int kCut, int kStored = 1>
void every_phase_is_stored() {
    constexpr int kBatch = 2, kFeatures = 5, kI = 7, kI2 = 9, kMargin = 8;
    const int m = kFeatures * 2 * kRows, n = kI * kI2;
    const int p = kI * 2 - 2 * kCut, q = kI2 * kRows - 2 * kCut;
    const auto value = [&](int batch, int row, int column) {
        return static_cast<T>((batch * m + row) * n + column + 1);
    };
    const auto size = static_cast<std::size_t>(kBatch * kFeatures * p * q);
    std::vector<T> all(kMargin + size + kMargin);
    const Phases<T, kRows, kCut, kStored> places{
        all.data() + kMargin, int64_t{kFeatures} * p * q, p * q, q, kI2, p, q};
    scatter_all<T>(places, {m, n, 1, {kBatch, 1}}, value);
    std::size_t i = kMargin;
    for (int batch = 0; batch < kBatch; ++batch)
        for (int f = 0; f < kFeatures; ++f)
            for (int a = kCut; a < p + kCut; ++a)
                for (int b = kCut; b < q + kCut; ++b, ++i)
                    ASSERT_EQ(all[i], value(batch, (f * 2 + a % 2) * kRows + b % kRows,
                                            a / 2 * kI2 + b / kRows))
                        << batch << " " << f << " " << a << " " << b;
    for (int k = 0; k < kMargin; ++k) {
        ASSERT_EQ(all[static_cast<std::size_t>(k)], T{});
        ASSERT_EQ(all[i + static_cast<std::size_t>(k)], T{});
    }
}

TEST(Scatter, EveryPhaseIsStored) {
    every_phase_is_stored<float, 1, 0>();
    every_phase_is_stored<float, 2, 1>();
    every_phase_is_stored<float, 2, 0>();
    every_phase_is_stored<float, 2, 0, 2>();
    every_phase_is_stored<float, 3, 1>();  // does not divide a box's rows
    every_phase_is_stored<float, 4, 1>();
    every_phase_is_stored<float, 4, 0, 4>();
    every_phase_is_stored<float, 8, 1>();
    every_phase_is_stored<float, 8, 0, 4>();
    every_phase_is_stored<float, 16, 1>();
    every_phase_is_stored<float, 16, 0, 4>();
    every_phase_is_stored<std::uint16_t, 1, 1>();
    every_phase_is_stored<std::uint16_t, 2, 1>();
    every_phase_is_stored<std::uint16_t, 2, 0, 2>();
    every_phase_is_stored<std::uint16_t, 4, 1>();
    every_phase_is_stored<std::uint16_t, 4, 0, 4>();
    every_phase_is_stored<std::uint16_t, 8, 1>();
    every_phase_is_stored<std::uint16_t, 8, 0, 8>();
    every_phase_is_stored<std::uint16_t, 16, 1>();
    every_phase_is_stored<std::uint16_t, 16, 0, 8>();
}

// acc[B, H*W, F] as y[B, F, P, Q]: rows are the pixels of an image, of which not all are places.
template <class T>
struct PlacesOfPixels {
    static constexpr int kRowsTogether = 16, kStoredTogether = 1;
    static constexpr bool kRowsAdd = false, kColumnsAdd = true;
    T* data;
    int64_t stride_0, stride_1;
    int w, q;

    struct Part {
        int64_t offset;
        Part operator+(Part const& more) const { return {offset + more.offset}; }
    };
    Part row(int row, int const* batch) const {
        if (row % w >= q) return {-1};
        return {batch[0] * stride_0 + row / w * q + row % w};
    }
    Part column(int column) const { return {column * stride_1}; }
    bool holds(Part const&) const { return true; }
};

template <class T>
void every_place_is_stored() {
    constexpr int kBatch = 2, kFeatures = 71, kP = 6, kQ = 9, kW = 11;
    const auto value = [&](int batch, int row, int column) {
        return static_cast<T>((batch * kP * kW + row) * kFeatures + column + 1);
    };
    std::vector<T> y(static_cast<std::size_t>(kBatch * kFeatures * kP * kQ));
    const PlacesOfPixels<T> places{y.data(), int64_t{kFeatures} * kP * kQ, kP * kQ, kW, kQ};
    scatter_all<T>(places, {kP * kW, kFeatures, 1, {kBatch, 1}}, value);
    std::size_t i = 0;
    for (int batch = 0; batch < kBatch; ++batch)
        for (int f = 0; f < kFeatures; ++f)
            for (int p = 0; p < kP; ++p)
                for (int q = 0; q < kQ; ++q, ++i)
                    ASSERT_EQ(y[i], value(batch, p * kW + q, f))
                        << batch << " " << f << " " << p << " " << q;
}

TEST(Scatter, EveryPlaceIsStored) {
    every_place_is_stored<float>();
    every_place_is_stored<std::uint16_t>();
}

// acc[B, m, n] as it is: its rows are no multiple of 16 bytes.
template <class T>
struct PlacesOfRows {
    static constexpr int kRowsTogether = 1, kStoredTogether = 1;
    static constexpr bool kRowsAdd = true, kColumnsAdd = true;
    T* data;
    int64_t stride_0, stride_1;

    struct Part {
        int64_t offset;
        Part operator+(Part const& more) const { return {offset + more.offset}; }
    };
    Part row(int row, int const* batch) const { return {batch[0] * stride_0 + row * stride_1}; }
    Part column(int column) const { return {column}; }
    bool holds(Part const&) const { return true; }
};

template <class T>
void every_row_is_stored() {
    constexpr int kBatch = 2, kM = 37, kN = 75;
    const auto value = [&](int batch, int row, int column) {
        return static_cast<T>((batch * kM + row) * kN + column + 1);
    };
    std::vector<T> y(static_cast<std::size_t>(kBatch * kM * kN));
    scatter_all<T>(PlacesOfRows<T>{y.data(), kM * kN, kN}, {kM, kN, 1, {kBatch, 1}}, value);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<T>(i + 1));
}

TEST(Scatter, EveryRowIsStored) {
    every_row_is_stored<float>();
    every_row_is_stored<std::uint16_t>();
}

}  // namespace
}  // namespace fact::sm90
