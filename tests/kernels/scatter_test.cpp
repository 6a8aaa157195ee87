// A box of results stored element by element, compiled for the host: every element of a tile is
// written once, where the emitted `Places` says, and nothing else is.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#define __device__
#define __builtin_assume(x)
#include "sm90/scatter.cuh"

namespace fact::sm90 {
namespace {

// acc[B, F*2*kRows, I*I2] as y[B, F, I*2, I2*kRows] less one element at each end, as the emitter
// writes it.
template <class T, int kRows>
struct Places {
    static constexpr int kRowsTogether = 16 % kRows == 0 ? kRows : 1;
    T* data;
    int features, i2, p, q;

    struct Part {
        int64_t offset;
        int p, q;
    };
    Part row(int row, int const* batch) const {
        return {(batch[0] * features + row / (2 * kRows)) * int64_t{p} * q, row / kRows % 2,
                row % kRows};
    }
    Part column(int column) const { return {0, column / i2 * 2 - 1, column % i2 * kRows - 1}; }
    T* at(Part const& r, Part const& c) const {
        int const at_p = r.p + c.p, at_q = r.q + c.q;
        if (at_p < 0 || at_p >= p || at_q < 0 || at_q >= q) return nullptr;
        return data + r.offset + c.offset + at_p * q + at_q;
    }
};

template <class T, int kRows>
void every_element_is_stored() {
    constexpr int kBatch = 2, kFeatures = 5, kI = 7, kI2 = 9;
    const int m = kFeatures * 2 * kRows, n = kI * kI2, p = kI * 2 - 2, q = kI2 * kRows - 2;
    const auto value = [&](int batch, int row, int column) {
        return static_cast<T>((batch * m + row) * n + column + 1);
    };
    std::vector<T> y(static_cast<std::size_t>(kBatch * kFeatures * p * q), T{});
    const Places<T, kRows> places{y.data(), kFeatures, kI2, p, q};
    const Extents extents{m, n, 1, {kBatch, 1}};
    constexpr int kColumns = kBoxRowBytes / static_cast<int>(sizeof(T));
    alignas(1024) unsigned char box[kBoxRows * kBoxRowBytes];
    for (int batch = 0; batch < kBatch; ++batch)
        for (int row = 0; row < m; row += kBoxRows)
            for (int column = 0; column < n; column += kColumns) {
                for (int r = 0; r < kBoxRows; ++r)
                    for (int c = 0; c < kColumns; ++c)
                        const_cast<T&>(in_box<T>(box, r, c)) = value(batch, row + r, column + c);
                const int at[2] = {batch, 0};
                for (int lane = 0; lane < 32; ++lane)
                    scatter<T>(box, places, row, column, at, extents, lane);
            }
    std::size_t i = 0;
    for (int batch = 0; batch < kBatch; ++batch)
        for (int f = 0; f < kFeatures; ++f)
            for (int a = 1; a <= p; ++a)
                for (int b = 1; b <= q; ++b, ++i)
                    ASSERT_EQ(y[i], value(batch, (f * 2 + a % 2) * kRows + b % kRows,
                                          a / 2 * kI2 + b / kRows))
                        << batch << " " << f << " " << a << " " << b;
}

TEST(Scatter, EveryElementIsStored) {
    every_element_is_stored<float, 2>();
    every_element_is_stored<float, 3>();  // does not divide a box's rows
    every_element_is_stored<float, 8>();
    every_element_is_stored<float, 16>();
    every_element_is_stored<std::uint16_t, 4>();
    every_element_is_stored<std::uint16_t, 2>();
    every_element_is_stored<std::uint16_t, 1>();
}

}  // namespace
}  // namespace fact::sm90
