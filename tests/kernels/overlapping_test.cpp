// A convolution of few channels as the skeletons compute it, on the host: rows that overlap, and
// `Places` as it is emitted for them (tests/lower_pipeline/golden/few_channels.cu).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#define __device__
#include "common/windows.cuh"

namespace fact {
namespace {

struct PlacesOfWindows {
    float* data;
    int64_t stride_0, stride_1;
    int extent_0, extent_1;

    struct Part {
        int64_t offset;
    };
    Part row(int row, int const* batch) const {
        if (row % extent_0 >= extent_1) return {-1};
        return {batch[0] * stride_0 + (row / extent_0 * extent_1 + row % extent_0)};
    }
    Part column(int column) const { return {column * stride_1}; }
    float* at(Part const& r, Part const& c) const {
        if (r.offset < 0) return nullptr;
        return data + r.offset + c.offset;
    }
};

TEST(OverlappingRows, ProductsOfRowsAreTheConvolution) {
    constexpr int kImages = 2, kFeatures = 3, kChannels = 8, kTapsH = 3, kTapsW = 3, kLong = 4;
    constexpr int kHeight = 6, kWidth = 9;  // with the zeros around them
    constexpr int kP = kHeight - kTapsH + 1, kQ = kWidth - kLong + 1;
    using Rows = OverlappingRows<kLong * kChannels, kTapsH>;
    constexpr int kDepth = kTapsH * Rows::kRun;

    std::vector<float> images(kImages * kHeight * kWidth * kChannels), weights(kFeatures * kDepth);
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * 7 % 11) - 5;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const bool is_zero = i / kChannels % kLong >= kTapsW;
        weights[i] = is_zero ? 0 : static_cast<float>(i * 5 % 13) - 6;
    }
    const auto image_at = [&](int b, int h, int w, int c) {
        return images[static_cast<std::size_t>(((b * kHeight + h) * kWidth + w) * kChannels + c)];
    };
    const auto weight_at = [&](int f, int k) {
        return weights[static_cast<std::size_t>(f * kDepth + k)];
    };

    // The map's rows end with the image; those after it are zeros.
    constexpr int kMapRows = kP * kWidth - kLong + 1;
    constexpr float kNever = 12345;
    std::vector<float> y(kImages * kFeatures * kP * kQ, kNever);
    const PlacesOfWindows places{y.data(), kFeatures * kP * kQ, kP * kQ, kWidth, kQ};
    for (int b = 0; b < kImages; ++b)
        for (int m = 0; m < kP * kWidth; ++m)
            for (int f = 0; f < kFeatures; ++f) {
                float sum = 0;
                for (int k = 0; k < kDepth && m < kMapRows; ++k) {
                    const auto tap = Rows::tap(k);
                    const int at = (tap.outer[0] * kWidth + m) * kChannels + tap.column;
                    ASSERT_LT(at, kHeight * kWidth * kChannels);
                    sum += weight_at(f, k) * image_at(b, 0, 0, at);
                }
                if (float* to = places.at(places.row(m, &b), places.column(f))) {
                    EXPECT_EQ(*to, kNever);
                    *to = sum;
                }
            }

    std::size_t i = 0;
    for (int b = 0; b < kImages; ++b)
        for (int f = 0; f < kFeatures; ++f)
            for (int p = 0; p < kP; ++p)
                for (int q = 0; q < kQ; ++q, ++i) {
                    float sum = 0;
                    for (int r = 0; r < kTapsH; ++r)
                        for (int s = 0; s < kTapsW; ++s)
                            for (int c = 0; c < kChannels; ++c)
                                sum += weight_at(f, (r * kLong + s) * kChannels + c) *
                                       image_at(b, p + r, q + s, c);
                    EXPECT_EQ(y[i], sum);
                }
}

}  // namespace
}  // namespace fact
