// ---- batched: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
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
    static constexpr int kBatchA = 0b01, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    Row<bf16> b;

    struct Fetched {
        Row<bf16>::Fetched b;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc + at.b.at(i);
        return F::gelu_tanh(t0);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
batched_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
               __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
               __grid_constant__ WalkOrder const order, __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);
}

// ---- gated: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_paired.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = half;
    using Output = half;
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
        using F = Functions<half>;
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

// ---- accurate: tile 128x128x32  cluster 1x1  mainloop cooperative  stages 6  scheduler persistent(raster: m, swizzle: 16); tile 128x256x32  cluster 2x1  mainloop cooperative  stages 6  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_single.cuh"
#include "sm90/prepare_pass.cuh"
#include "sm90/product.cuh"
#include "sm90/mainloop_tf32.cuh"

using namespace fact;

namespace accurate_0 {
using namespace fact::sm90;

struct Config {
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    Scalar<float> alpha;

    struct Fetched {
        Scalar<float>::Fetched alpha;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {alpha.fetch(slab)};
    }
    __device__ Fetched fetch_right(Slab const&, Fetched const& left) const { return left; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return at.alpha.at(i) * acc;
    }
};

using Mainloop = MainloopSingle<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
accurate_0_maximum(__grid_constant__ OperandSource const source,
                   __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
accurate_0_prepare(__grid_constant__ OperandSource const source,
                   __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
accurate_0_kernel(__grid_constant__ CUtensorMap const map_x,
                  __grid_constant__ CUtensorMap const map_w_rows,
                  __grid_constant__ CUtensorMap const map_y,
                  __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order,
                  __grid_constant__ Finish const finish,
                  __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_x, map_w_rows, scales}, map_y, map_y, extents, order, finish);
}
}  // namespace accurate_0

namespace accurate_1 {
using namespace fact::sm90;

struct Config {
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 32, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc;
    }
};

using Mainloop = MainloopTf32<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
accurate_1_maximum(__grid_constant__ OperandSource const source,
                   __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
accurate_1_prepare(__grid_constant__ OperandSource const source,
                   __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
accurate_1_kernel(__grid_constant__ CUtensorMap const map_x,
                  __grid_constant__ CUtensorMap const map_w_rows,
                  __grid_constant__ CUtensorMap const map_fast,
                  __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order,
                  __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_x, map_w_rows, scales}, map_fast, map_fast, extents, order, Finish{});
}
}  // namespace accurate_1

// ---- chained: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;

namespace chained_0 {
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
chained_0_kernel(__grid_constant__ CUtensorMap const map_x,
                 __grid_constant__ CUtensorMap const map_a,
                 __grid_constant__ CUtensorMap const map_h, __grid_constant__ Extents const extents,
                 __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_a}, map_h, map_h, extents, order, Finish{});
}
}  // namespace chained_0

namespace chained_1 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = float;
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
        using F = Functions<float>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
chained_1_kernel(__grid_constant__ CUtensorMap const map_h,
                 __grid_constant__ CUtensorMap const map_b,
                 __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
                 __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_h, map_b}, map_y, map_y, extents, order, Finish{});
}
}  // namespace chained_1

