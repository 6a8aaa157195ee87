// ---- gated: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_paired.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kProducts = 2;
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

    __device__ float operator()(float acc, float other, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = F::silu(acc);
        return t0 * other;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
gated_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_a,
             __grid_constant__ CUtensorMap const map_b, __grid_constant__ CUtensorMap const map_y,
             __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopPaired<Config>;
    product<Config, Mainloop>({map_x, map_a, map_b}, map_y, map_y, extents, order, Finish{});
}

// ---- gates: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a thread a row
#include "sm90/mainloop_paired.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace gates_0 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kProducts = 2;
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

    __device__ float operator()(float acc, float other, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = F::silu(acc);
        float const gated_y = t0 * other;
        return rounded<bf16>(gated_y);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
gates_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_a,
               __grid_constant__ CUtensorMap const map_b, __grid_constant__ CUtensorMap const map_y,
               __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopPaired<Config>;
    product<Config, Mainloop>({map_x, map_a, map_b}, map_y, map_y, extents, order, Finish{});
}
}  // namespace gates_0

namespace gates_1 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kProducts = 2;
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

    __device__ float operator()(float acc, float other, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = F::silu(acc);
        float const gated_y2 = t0 * other;
        return rounded<bf16>(gated_y2);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
gates_1_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_b,
               __grid_constant__ CUtensorMap const map_a, __grid_constant__ CUtensorMap const map_y,
               __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopPaired<Config>;
    product<Config, Mainloop>({map_x, map_b, map_a}, map_y, map_y, extents, order, Finish{});
}
}  // namespace gates_1

namespace gates_2 {
struct Arguments {
    Tensor<bf16 const, 2> t;
    Tensor<bf16 const, 2> t1;
    Tensor<bf16, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
gates_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const t = widen(args.t(m, n));
        float const t1 = widen(args.t1(m, n));
        float const y = t + t1;
        args.y(m, n) = narrow<bf16>(y);
    });
}
}  // namespace gates_2

