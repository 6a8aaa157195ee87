// ---- before: a block a row; tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "common/rows.cuh"
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;

namespace before_0 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<bf16 const, 1> g;
    Tensor<bf16 const, 1> b;
    Tensor<bf16, 2> n;
    int M, K;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
before_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.K}, [&](int k) {
            float const x = widen(args.x(m, k));
            return x;
        });
        int const t1 = args.K;
        float const t2 = F::divide(t0, static_cast<float>(t1));
        auto const t3 = Row::reduce<Sum>(int64_t{args.K}, [&](int k) {
            float const x = widen(args.x(m, k));
            float const t4 = x - t2;
            float const t5 = t4 * t4;
            return t5;
        });
        int const t4 = args.K;
        float const t5 = F::divide(t3, static_cast<float>(t4));
        float const t6 = t5 + 1e-05f;
        float const t7 = F::rsqrt(t6);
        Row::each(int64_t{args.K}, [&](int k) {
            float const x = widen(args.x(m, k));
            float const t8 = x - t2;
            float const t9 = t8 * t7;
            float const g = widen(args.g(k));
            float const t10 = t9 * g;
            float const b = widen(args.b(k));
            float const t11 = t10 + b;
            float const n = rounded<bf16>(t11);
            args.n(m, k) = narrow<bf16>(n);
        });
    });
}
}  // namespace before_0

namespace before_1 {
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
before_1_kernel(__grid_constant__ CUtensorMap const map_n,
                __grid_constant__ CUtensorMap const map_w,
                __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
                __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_n, map_w}, map_y, map_y, extents, order, Finish{});
}
}  // namespace before_1

// ---- after: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a thread a row; a block a row
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace after_0 {
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
after_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
               __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
               __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, Finish{});
}
}  // namespace after_0

namespace after_1 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
after_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.N, [&](int64_t row) {
        int const n = static_cast<int>(row % args.N);
        int const m = static_cast<int>(row / args.N);
        float const t = widen(args.t(m, n));
        float const t1 = t * t;
        args.y(m, n) = narrow<float>(t1);
    });
}
}  // namespace after_1

namespace after_2 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<float const, 2> t1;
    Tensor<bf16 const, 1> g;
    Tensor<bf16, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
after_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const t1 = widen(args.t1(m, n));
            return t1;
        });
        int const t1 = args.N;
        float const t2 = F::divide(t0, static_cast<float>(t1));
        float const t3 = t2 + 1e-06f;
        float const t4 = F::rsqrt(t3);
        Row::each(int64_t{args.N}, [&](int n) {
            float const t5 = widen(args.t(m, n));
            float const t6 = t5 * t4;
            float const g = widen(args.g(n));
            float const y = t6 * g;
            args.y(m, n) = narrow<bf16>(y);
        });
    });
}
}  // namespace after_2

// ---- groups: tile 128x128x32  cluster 1x1  mainloop cooperative  stages 6  scheduler persistent(raster: m, swizzle: 16); a block a row
#include "sm90/mainloop_single.cuh"
#include "sm90/prepare_pass.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace groups_0 {
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
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        return acc;
    }
};

using Mainloop = MainloopSingle<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
groups_0_maximum(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
groups_0_prepare(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
groups_0_kernel(__grid_constant__ CUtensorMap const map_x,
                __grid_constant__ CUtensorMap const map_w_rows,
                __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
                __grid_constant__ WalkOrder const order,
                __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_x, map_w_rows, scales}, map_y, map_y, extents, order, Finish{});
}
}  // namespace groups_0

namespace groups_1 {
struct Arguments {
    Tensor<float const, 3> t;
    Tensor<float const, 1> g;
    Tensor<float, 2> y;
    int M, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
groups_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M} * 8, [&](int64_t row) {
        int const c8 = static_cast<int>(row % 8);
        int const m = static_cast<int>(row / 8);
        auto const t0 = Row::reduce<Sum>(int64_t{args.D}, [&](int d) {
            float const t1 = widen(args.t(m, c8, d));
            return t1;
        });
        int const t1 = args.D;
        float const t2 = F::divide(t0, static_cast<float>(t1));
        auto const t3 = Row::reduce<Sum>(int64_t{args.D}, [&](int d) {
            float const t4 = widen(args.t(m, c8, d));
            float const t5 = t4 - t2;
            float const t6 = t5 * t5;
            return t6;
        });
        int const t4 = args.D;
        float const t5 = F::divide(t3, static_cast<float>(t4));
        float const t6 = t5 + 1e-05f;
        float const t7 = F::rsqrt(t6);
        Row::each(int64_t{args.D}, [&](int d) {
            float const t8 = widen(args.t(m, c8, d));
            float const t9 = t8 - t2;
            float const t10 = t9 * t7;
            float const g = widen(args.g(c8 * args.D + d));
            float const y = t10 * g;
            args.y(m, c8 * args.D + d) = narrow<float>(y);
        });
    });
}
}  // namespace groups_1

// ---- channels: a block a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<float const, 4> x;
    Tensor<float, 4> y;
    int B, C, H, W;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
channels_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.B} * args.C, [&](int64_t row) {
        int const c = static_cast<int>(row % args.C);
        int const b = static_cast<int>(row / args.C);
        auto const t0 = Row::reduce<Sum>(int64_t{args.H} * args.W, [&](int64_t at) {
            int const w = static_cast<int>(at % args.W);
            int const h = static_cast<int>(at / args.W);
            float const x = widen(args.x(b, c, h, w));
            return x;
        });
        int const t1 = args.H * args.W;
        float const t2 = F::divide(t0, static_cast<float>(t1));
        auto const t3 = Row::reduce<Sum>(int64_t{args.H} * args.W, [&](int64_t at) {
            int const w = static_cast<int>(at % args.W);
            int const h = static_cast<int>(at / args.W);
            float const x = widen(args.x(b, c, h, w));
            float const t4 = x - t2;
            float const t5 = t4 * t4;
            return t5;
        });
        int const t4 = args.H * args.W;
        float const t5 = F::divide(t3, static_cast<float>(t4));
        float const t6 = t5 + 1e-05f;
        float const t7 = F::rsqrt(t6);
        Row::each(int64_t{args.H} * args.W, [&](int64_t at) {
            int const w = static_cast<int>(at % args.W);
            int const h = static_cast<int>(at / args.W);
            float const x = widen(args.x(b, c, h, w));
            float const t8 = x - t2;
            float const y = t8 * t7;
            args.y(b, c, h, w) = narrow<float>(y);
        });
    });
}

