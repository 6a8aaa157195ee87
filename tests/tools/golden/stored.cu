// ---- two: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a thread a row; tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace two_0 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = F::relu(acc);
        return rounded<bf16>(t0);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
two_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_a,
             __grid_constant__ CUtensorMap const map_h, __grid_constant__ Extents const extents,
             __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_a}, map_h, map_h, extents, order, Finish{});
}
}  // namespace two_0

namespace two_1 {
struct Arguments {
    Tensor<bf16 const, 2> h;
    Tensor<bf16, 2> h1;
    int M, H;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
two_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.H, [&](int64_t row) {
        int const h_at = static_cast<int>(row % args.H);
        int const m = static_cast<int>(row / args.H);
        float const h = widen(args.h(m, h_at));
        args.h1(m, h_at) = narrow<bf16>(h);
    });
}
}  // namespace two_1

namespace two_2 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
two_2_kernel(__grid_constant__ CUtensorMap const map_h, __grid_constant__ CUtensorMap const map_b,
             __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
             __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_h, map_b}, map_y, map_y, extents, order, Finish{});
}
}  // namespace two_2

