// ---- linear: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
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
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return F::relu(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
              __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
              __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, Finish{});
}

// ---- moments: a block a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float, 1> m;
    Tensor<float, 1> s;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
moments_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            return x;
        });
        auto const s = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const x = widen(args.x(m, n));
            float const t1 = x * x;
            return t1;
        });
        int const t1 = args.N;
        float const m1 = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.m(m) = narrow<float>(m1);
            args.s(m) = narrow<float>(s);
        });
    });
}

// ---- per_head: a block a row
#include "common/rows.cuh"

using namespace fact;

struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float const, 1> g;
    Tensor<bf16, 2> y;
    int M, H, D;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
per_head_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M} * args.H, [&](int64_t row) {
        int const h = static_cast<int>(row % args.H);
        int const m = static_cast<int>(row / args.H);
        auto const y = Row::reduce<Sum>(int64_t{args.D}, [&](int d) {
            float const x = widen(args.x(m, h * args.D + d));
            float const g = widen(args.g(d));
            float const t0 = x * g;
            return t0;
        });
        Row::once([&] {
            args.y(m, h) = narrow<bf16>(y);
        });
    });
}

// ---- mlp: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a block a row; a block a row; a thread a row; tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace mlp_0 {
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
        float const h_y = F::relu(acc);
        return rounded<bf16>(h_y);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
mlp_0_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w1,
             __grid_constant__ CUtensorMap const map_h, __grid_constant__ Extents const extents,
             __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w1}, map_h, map_h, extents, order, Finish{});
}
}  // namespace mlp_0

namespace mlp_1 {
struct Arguments {
    Tensor<bf16 const, 2> h;
    Tensor<float, 1> m;
    int M, H;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
mlp_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Sum>(int64_t{args.H}, [&](int h_at) {
            float const h = widen(args.h(m, h_at));
            return h;
        });
        int const t1 = args.H;
        float const m1 = F::divide(t0, static_cast<float>(t1));
        Row::once([&] {
            args.m(m) = narrow<float>(m1);
        });
    });
}
}  // namespace mlp_1

namespace mlp_2 {
struct Arguments {
    Tensor<bf16 const, 2> h;
    Tensor<float, 1> s;
    int M, H;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
mlp_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const s = Row::reduce<Sum>(int64_t{args.H}, [&](int h_at) {
            float const h = widen(args.h(m, h_at));
            float const t0 = h * h;
            return t0;
        });
        Row::once([&] {
            args.s(m) = narrow<float>(s);
        });
    });
}
}  // namespace mlp_2

namespace mlp_3 {
struct Arguments {
    Tensor<bf16 const, 2> h;
    Tensor<float const, 1> m;
    Tensor<bf16, 2> y;
    int M, H;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
mlp_3_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{args.M} * args.H, [&](int64_t row) {
        int const h_at = static_cast<int>(row % args.H);
        int const m_at = static_cast<int>(row / args.H);
        float const h = widen(args.h(m_at, h_at));
        float const m = widen(args.m(m_at));
        float const t0 = h - m;
        float const t1 = rounded<bf16>(t0);
        args.y(m_at, h_at) = narrow<bf16>(t1);
    });
}
}  // namespace mlp_3

namespace mlp_4 {
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
        return F::relu(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
mlp_4_kernel(__grid_constant__ CUtensorMap const map_t, __grid_constant__ CUtensorMap const map_w2,
             __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
             __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_t, map_w2}, map_y, map_y, extents, order, Finish{});
}
}  // namespace mlp_4

// ---- heads: a block a row; a thread a row; a block a row
#include "common/rows.cuh"

using namespace fact;

namespace heads_0 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float const, 1> g;
    Tensor<bf16, 2> y;
    int T, E;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
heads_0_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.T} * 4 * 16, [&](int64_t row) {
        int const c16 = static_cast<int>(row % 16);
        int const c4 = static_cast<int>(row / 16 % 4);
        int const t = static_cast<int>(row / (int64_t{4} * 16));
        auto const per_head_y = Row::reduce<Sum>(int64_t{args.E}, [&](int e) {
            float const x = widen(args.x(t, (c4 * 16 + c16) * args.E + e));
            float const g = widen(args.g(e));
            float const t1 = x * g;
            return t1;
        });
        float const t1 = rounded<bf16>(per_head_y);
        Row::once([&] {
            args.y(t, c4 * 16 + c16) = narrow<bf16>(t1);
        });
    });
}
}  // namespace heads_0

namespace heads_1 {
struct Arguments {
    Tensor<bf16 const, 2> t;
    Tensor<bf16, 2> y;
    int T;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
heads_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = ThreadRow;
    Row::each_row(int64_t{4} * 16 * args.T, [&](int64_t row) {
        int const t_at = static_cast<int>(row % args.T);
        int const c16 = static_cast<int>(row / args.T % 16);
        int const c4 = static_cast<int>(row / (int64_t{16} * args.T));
        float const t = widen(args.t(t_at, c4 * 16 + c16));
        args.y(c4 * 16 + c16, t_at) = narrow<bf16>(t);
    });
}
}  // namespace heads_1

namespace heads_2 {
struct Arguments {
    Tensor<bf16 const, 2> x;
    Tensor<float const, 1> c;
    Tensor<bf16, 2> z;
    int T, E;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
heads_2_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<bf16>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.T} * 4, [&](int64_t row) {
        int const c4 = static_cast<int>(row % 4);
        int const t = static_cast<int>(row / 4);
        auto const z = Row::reduce<Sum>(int64_t{16} * args.E, [&](int64_t at) {
            int const e = static_cast<int>(at % args.E);
            int const c16 = static_cast<int>(at / args.E);
            float const x = widen(args.x(t, (c4 * 16 + c16) * args.E + e));
            float const c = widen(args.c(c16 * args.E + e));
            float const t1 = x * c;
            return t1;
        });
        Row::once([&] {
            args.z(t, c4) = narrow<bf16>(z);
        });
    });
}
}  // namespace heads_2

