// The passes that write an f32 operand in f16 parts, run on the host, beside a plain loop.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "emulated/device.h"

namespace fact {
using std::max;
using std::min;
}  // namespace fact
#undef __shared__
#define __shared__ static
#include "sm90/prepare_pass.cuh"

namespace fact::sm90 {
namespace {

// Parts in an order that is its own inverse and not the given one.
struct Reversed {
    static constexpr int kParts = 2;
    static int position(int k) { return (31 - k) ^ 1; }
};

struct Case {
    int batch, n, k;
    bool along_k = true;
    int beyond = 0;  // numbers that follow a row and are none of its own
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.batch << " x " << c.n << " x " << c.k << (c.along_k ? "" : " along n");
}

int tiles(int extent, int tile) {
    return (extent + tile - 1) / tile;
}

class Passes : public testing::TestWithParam<Case> {
  protected:
    Passes() {
        const Case c = GetParam();
        const int pitch = c.along_k ? c.k + c.beyond : c.n + c.beyond;
        const int lines = c.along_k ? c.n : c.k;
        data_.assign(static_cast<std::size_t>(c.batch * lines * pitch),
                     std::numeric_limits<float>::quiet_NaN());
        source_ = {data_.data(),
                   c.along_k ? pitch : 1,
                   c.along_k ? 1 : pitch,
                   {static_cast<int64_t>(lines) * pitch},
                   c.n,
                   c.k,
                   {c.batch}};
        std::mt19937 random(7);
        std::normal_distribution<float> normal;
        for (int batch = 0; batch < c.batch; ++batch)
            for (int n = 0; n < c.n; ++n)
                for (int k = 0; k < c.k; ++k)
                    data_[offset(batch, n, k)] = std::ldexp(normal(random), n % 40 - 20);
        depth_ = tiles(c.k, 32) * 32;
        rows_.assign(static_cast<std::size_t>(c.batch * depth_ * c.n * 2), half{0x7e00});
        scales_.assign(static_cast<std::size_t>(c.batch * RowScalesOfB::pitch(c.n)), -1.f);
        maxima_.assign(static_cast<std::size_t>(tiles(c.k, kMaximumSpan) * c.batch * c.n), -1.f);
    }

    std::size_t offset(int batch, int n, int k) const {
        return static_cast<std::size_t>(batch * source_.batch_strides[0] + n * source_.n_stride +
                                        k * source_.k_stride);
    }

    void run() {
        const PreparedRows to{rows_.data(), scales_.data(), maxima_.data()};
        pass(kMaximumSpan, [&] { maximum_pass(source_, to); });
        pass(kSpan, [&] { prepare_pass<Reversed>(source_, to); });
        EXPECT_EQ(emulated::missed_barriers(), 0);
    }

    OperandSourceOf<1> source_{};
    int depth_ = 0;
    std::vector<float> data_, scales_, maxima_;
    std::vector<half> rows_;

  private:
    // As the launch record has it, but for a grid that is not as deep as the batch.
    void pass(int span, const std::function<void()>& thread) const {
        gridDim.z = 2;
        for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
            for (blockIdx.y = 0; blockIdx.y < static_cast<unsigned>(tiles(source_.n, kPassTile));
                 ++blockIdx.y)
                emulated::run({.grid = tiles(source_.k, span), .threads = kPassThreads}, thread);
    }
};

TEST_P(Passes, WriteEveryNumberOfEveryRow) {
    run();
    const Case c = GetParam();
    for (int batch = 0; batch < c.batch; ++batch)
        for (int n = 0; n < c.n; ++n) {
            float most = 0.f;
            for (int k = 0; k < c.k; ++k)
                most = std::max(most, std::fabs(data_[offset(batch, n, k)]));
            const float down =
                scales_[static_cast<std::size_t>(batch * RowScalesOfB::pitch(c.n) + n)];
            ASSERT_EQ(down, std::ldexp(1.f, std::ilogb(most) - 14)) << "row " << n;
            for (int k = 0; k < depth_; ++k) {
                const auto block =
                    static_cast<std::size_t>((batch * depth_ / 32 + k / 32) * c.n + n);
                const half* at = rows_.data() + block * 64 + Reversed::position(k % 32);
                const float found = (__half2float(at[0]) + __half2float(at[32])) * down;
                const float given = k < c.k ? data_[offset(batch, n, k)] : 0.f;
                ASSERT_NEAR(found, given, std::ldexp(most, -22)) << "row " << n << ", k " << k;
            }
        }
}

INSTANTIATE_TEST_SUITE_P(PreparePass, Passes,
                         testing::Values(Case{3, 70, 96}, Case{1, 7, 256}, Case{1, 65, 260},
                                         Case{2, 9, 512}, Case{1, 20, 1024}, Case{1, 3, 1028},
                                         Case{1, 5, 2080}, Case{2, 68, 96, false},
                                         Case{1, 12, 512, false}, Case{1, 5, 1100, false, 3},
                                         Case{1, 5, 98, true, 2}, Case{1, 5, 998, true, 2},
                                         Case{1, 5, 1999, true, 1}));

}  // namespace
}  // namespace fact::sm90
