#include "common/rows.cuh"
#include "sm90/patch_convolution.cuh"

using namespace fact;

namespace colours_0 {
struct Arguments {
    Tensor<float const, 4> w;
    Tensor<float, 5> y;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
colours_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{3} * 3 * 16 * 8 * 3, [&](int64_t row) {
        int const f3 = static_cast<int>(row % 3);
        int const g = static_cast<int>(row / 3 % 8);
        int const c = static_cast<int>(row / (int64_t{8} * 3) % 16);
        int const s = static_cast<int>(row / (int64_t{16} * 8 * 3) % 3);
        int const r = static_cast<int>(row / (int64_t{3} * 16 * 8 * 3));
        float const w = widen(args.w(g * 3 + f3, c, r, s));
        args.y(r, s, c, g, f3) = narrow<float>(w);
    });
}
}  // namespace colours_0

namespace colours_1 {
struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float const, 5> t;
    Tensor<float const, 1> bias;
    Tensor<float, 4> y;
    int B;
};

struct Patches {
    static constexpr int kParts = 1, kFeatures = 24, kChannels = 16, kRuns = 1, kGroups = 4, kTogether = 2;
    static constexpr bool kFetches = true;
    static constexpr int kTaps[3] = {1, 3, 3};
    static constexpr int kDilation[3] = {1, 1, 1};
    static constexpr int kBefore[3] = {0, 1, 1};
    static constexpr int kImage[3] = {1, 126, 130};
    static constexpr int kPlaces[3] = {1, 126, 130};
};

static_assert(sm90::PatchLayout<Patches>::kBytes == 195968);

extern "C" __global__ void __launch_bounds__(sm90::PatchLayout<Patches>::kThreads)
colours_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    auto const pixel = [&](int b, int, int h, int w) {
        return &args.x(b, 0, h, w);
    };
    auto const weight = [&](int feature, int c, int, int r, int s) {
        int const f3 = feature % 3;
        int const g = feature / 3;
        return widen(args.t(r, s, c, g, f3));
    };
    auto const finish = [&](int b, int feature, int, int p, int q, float sum) {
        int const f3 = feature % 3;
        int const g = feature / 3;
        float const bias = widen(args.bias(g * 3 + f3));
        float const t0 = sum + bias;
        return t0;
    };
    auto const store = [&](int b, int feature, int, int p, int q, float const (&values)[2]) {
        int const f3 = feature % 3;
        int const g = feature / 3;
        store_neighbours<2>(args.y(b, g * 3 + f3, p, q), [&](int i) { return values[i]; });
    };
    sm90::convolve_patches<Patches>(args.B, pixel, args.x.strides[1], weight, finish, store);
}
}  // namespace colours_1
