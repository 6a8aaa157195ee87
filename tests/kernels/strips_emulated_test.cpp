// Windows of several places and neighbours in one thread, run on the host as the emitter writes
// them: a convolution of each channel by itself, of images that are channels last.
#include <gtest/gtest.h>

#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#undef __shared__
#define __shared__ static
#include "common/strips.cuh"

namespace fact {
namespace {

struct Sizes {
    int height, width, taps, stride, dilation, before, places_down, places_across;
};

// y[p, q, n] = the sum of x[h, w, n] * weight[r, s, n], in strips of kPlaces and kCount.
template <int kPlaces, int kCount, int kLength, int kTaps>
void right_for(const Sizes& z) {
    constexpr int kChannels = 2 * kCount;
    std::vector<float> x(static_cast<std::size_t>(z.height * z.width * kChannels + kCount)),
        weight(static_cast<std::size_t>(z.taps * kTaps * kChannels + kCount));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 13) - 6;
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i * 5 % 11) - 5;
    const auto aligned = [](std::vector<float>& of) {
        auto const at = reinterpret_cast<std::uintptr_t>(of.data());
        return of.data() + (16 - at % 16) % 16 / sizeof(float);
    };
    float *const xs = aligned(x), *const ws = aligned(weight);
    const auto size = static_cast<std::size_t>(z.places_down * z.places_across * kChannels);
    std::vector<float> memory(size + 2 * kCount, -1.f);
    float* const y = aligned(memory);

    const int strips = (z.places_across + kPlaces - 1) / kPlaces;
    emulated::run({.grid = 2, .threads = kRowThreads}, [&] {
        ThreadRow::each_row(z.places_down * strips * 2, [&](int64_t item) {
            int const n = static_cast<int>(item) % 2 * kCount;
            int const q = static_cast<int>(item) / 2 % strips * kPlaces;
            int const p = static_cast<int>(item) / 2 / strips;
            Reduced<Sum, kPlaces, kCount> sum;
            for (int r = 0; r < z.taps; ++r) {
                int const h = p * z.stride + r * z.dilation - z.before;
                int const w = q * z.stride - z.before;
                Line<float, kCount, kLength> const line(xs + (h * z.width + w) * kChannels + n,
                                                        kChannels, w, z.width, inside(h, z.height),
                                                        0.f);
                for (int s = 0; s < kTaps; ++s) {
                    auto const taps = neighbours<kCount>(ws[(r * kTaps + s) * kChannels + n]);
                    sum.add([&](int place, int i) {
                        return line.at(place * z.stride + s * z.dilation, i) * taps[i];
                    });
                }
            }
            for (int place = 0; place < kPlaces; ++place) {
                if (q + place >= z.places_across) break;
                store_neighbours<kCount>(y[(p * z.places_across + q + place) * kChannels + n],
                                         [&](int i) { return sum.at(place, i); });
            }
        });
    });
    for (int p = 0; p < z.places_down; ++p)
        for (int q = 0; q < z.places_across; ++q)
            for (int n = 0; n < kChannels; ++n) {
                float expected = 0;
                for (int r = 0; r < z.taps; ++r)
                    for (int s = 0; s < kTaps; ++s) {
                        const int h = p * z.stride + r * z.dilation - z.before,
                                  w = q * z.stride + s * z.dilation - z.before;
                        if (inside(h, z.height) && inside(w, z.width))
                            expected += xs[(h * z.width + w) * kChannels + n] *
                                        ws[(r * kTaps + s) * kChannels + n];
                    }
                ASSERT_EQ(y[(p * z.places_across + q) * kChannels + n], expected)
                    << p << ' ' << q << ' ' << n;
            }
    for (std::size_t i = size; i < size + kCount; ++i) EXPECT_EQ(y[i], -1.f) << "past the end";
}

TEST(Strips, SeeTheirWindows) {
    right_for<4, 4, 6, 3>({9, 10, 3, 1, 1, 1, 9, 10});  // the last strip has two places
    right_for<4, 2, 8, 3>({9, 11, 3, 1, 2, 2, 9, 11});  // taps apart
    right_for<2, 4, 5, 3>({12, 9, 3, 2, 1, 1, 6, 5});   // places apart
    right_for<1, 1, 4, 4>({8, 8, 4, 1, 1, 0, 5, 5});    // nothing outside
}

}  // namespace
}  // namespace fact
