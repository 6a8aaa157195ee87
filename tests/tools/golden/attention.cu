// ---- plain: attention 128x128, 64 by 64 features
#include "sm90/attention.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kDepth = 64, kWidth = 64;
    static constexpr int kGroups = 2, kColumns = 128;
    static constexpr int kStages = 2, kRowStages = 2, kStoreBuffers = 2;
    static constexpr bool kCausal = false, kBias = false;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kBatchK = 0b11, kBatchV = 0b11;
    static constexpr int kHeads = 0, kRepeats = 1;
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)
plain_kernel(__grid_constant__ CUtensorMap const map_q, __grid_constant__ CUtensorMap const map_k,
             __grid_constant__ CUtensorMap const map_v, __grid_constant__ CUtensorMap const map_y,
             __grid_constant__ AttentionExtents const extents) {
    attention<Config>(map_q, map_k, map_v, map_y, extents, NoBias{});
}

// ---- grouped: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); a block a row; tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace grouped_0 {
using namespace fact::sm90;

struct Config {
    using Element = half;
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b111, kBatchB = 0b011;
    static constexpr bool kStaged = false;
};

struct Finish {
    using Slab = SlabOf<3>;
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        int const t0 = slab.row_of(i);
        int const t1 = slab.column_of(i);
        bool const t2 = t0 >= t1;
        float const t3 = acc * 0.125f;
        return t2 ? t3 : -INFINITY;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
grouped_0_kernel(__grid_constant__ CUtensorMap const map_q,
                 __grid_constant__ CUtensorMap const map_k,
                 __grid_constant__ CUtensorMap const map_y,
                 __grid_constant__ ExtentsOf<3> const extents,
                 __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_q, map_k}, map_y, map_y, extents, order, Finish{});
}
}  // namespace grouped_0

namespace grouped_1 {
struct Arguments {
    Tensor<float const, 5> t;
    Tensor<half, 5> y;
    int B, G, R, M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
grouped_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<half>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.B} * args.G * args.R * args.M, [&](int64_t row) {
        int const m = static_cast<int>(row % args.M);
        int const r = static_cast<int>(row / args.M % args.R);
        int const g = static_cast<int>(row / (int64_t{args.R} * args.M) % args.G);
        int const b = static_cast<int>(row / (int64_t{args.G} * args.R * args.M));
        auto const t0 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const t1 = widen(args.t(b, g, r, m, n));
            return t1;
        });
        auto const t1 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const t2 = widen(args.t(b, g, r, m, n));
            float const t3 = t2 - t0;
            float const t4 = F::exp(t3);
            return t4;
        });
        Row::each(int64_t{args.N}, [&](int n) {
            float const t2 = widen(args.t(b, g, r, m, n));
            float const t3 = t2 - t0;
            float const t4 = F::exp(t3);
            float const t5 = F::divide(t4, t1);
            float const t6 = rounded<half>(t5);
            args.y(b, g, r, m, n) = narrow<half>(t6);
        });
    });
}
}  // namespace grouped_1

namespace grouped_2 {
using namespace fact::sm90;

struct Config {
    using Element = half;
    using Output = half;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::mn;
    static constexpr int kBatchA = 0b111, kBatchB = 0b011;
    static constexpr bool kStaged = false;
};

struct Finish {
    using Slab = SlabOf<3>;
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<half>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
grouped_2_kernel(__grid_constant__ CUtensorMap const map_t,
                 __grid_constant__ CUtensorMap const map_v,
                 __grid_constant__ CUtensorMap const map_y,
                 __grid_constant__ ExtentsOf<3> const extents,
                 __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_t, map_v}, map_y, map_y, extents, order, Finish{});
}
}  // namespace grouped_2

// ---- biased: tile 128x128x32  cluster 2x1  mainloop cooperative  stages 6  scheduler persistent(raster: m, swizzle: 8); a block a row; tile 128x128x32  cluster 1x1  mainloop cooperative  stages 6  scheduler persistent(raster: m, swizzle: 16)
#include "sm90/mainloop_single.cuh"
#include "sm90/prepare_pass.cuh"
#include "sm90/product.cuh"
#include "common/rows.cuh"

using namespace fact;

namespace biased_0 {
using namespace fact::sm90;

struct Config {
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    Matrix<bool> m;
    Row<float> s;

    struct Fetched {
        Matrix<bool>::Fetched m;
        Row<float>::Fetched s;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {m.fetch(slab), s.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        float const t0 = acc * 0.125f;
        float const t1 = at.m.at(i) ? at.s.at(i) : -INFINITY;
        return t0 + t1;
    }
};

using Mainloop = MainloopSingle<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
biased_0_maximum(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
biased_0_prepare(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
biased_0_kernel(__grid_constant__ CUtensorMap const map_q,
                __grid_constant__ CUtensorMap const map_k_rows,
                __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
                __grid_constant__ WalkOrder const order, __grid_constant__ Finish const finish,
                __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_q, map_k_rows, scales}, map_y, map_y, extents, order, finish);
}
}  // namespace biased_0

namespace biased_1 {
struct Arguments {
    Tensor<float const, 2> t;
    Tensor<float, 2> y;
    int M, N;
};

extern "C" __global__ void __launch_bounds__(kRowThreads)
biased_1_kernel(__grid_constant__ Arguments const args) {
    using F = Functions<float>;
    using Row = BlockRow;
    Row::each_row(int64_t{args.M}, [&](int64_t row) {
        int const m = static_cast<int>(row);
        auto const t0 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {
            float const t1 = widen(args.t(m, n));
            return t1;
        });
        auto const t1 = Row::reduce<Sum>(int64_t{args.N}, [&](int n) {
            float const t2 = widen(args.t(m, n));
            float const t3 = t2 - t0;
            float const t4 = F::exp(t3);
            return t4;
        });
        Row::each(int64_t{args.N}, [&](int n) {
            float const t2 = widen(args.t(m, n));
            float const t3 = t2 - t0;
            float const t4 = F::exp(t3);
            float const t5 = F::divide(t4, t1);
            args.y(m, n) = narrow<float>(t5);
        });
    });
}
}  // namespace biased_1

namespace biased_2 {
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
biased_2_maximum(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
biased_2_prepare(__grid_constant__ OperandSource const source,
                 __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
biased_2_kernel(__grid_constant__ CUtensorMap const map_t,
                __grid_constant__ CUtensorMap const map_v_rows,
                __grid_constant__ CUtensorMap const map_y, __grid_constant__ Extents const extents,
                __grid_constant__ WalkOrder const order,
                __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_t, map_v_rows, scales}, map_y, map_y, extents, order, Finish{});
}
}  // namespace biased_2

// ---- rounded: attention 128x128, 64 by 64 features
#include "sm90/attention.cuh"
#include "sm90/scale_pass.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = half;
    using Output = float;
    static constexpr int kDepth = 64, kWidth = 64;
    static constexpr int kGroups = 2, kColumns = 128;
    static constexpr int kStages = 2, kRowStages = 2, kStoreBuffers = 2;
    static constexpr bool kCausal = true, kBias = false;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kBatchK = 0b01, kBatchV = 0b01;
    static constexpr int kHeads = 0, kRepeats = 1;
};

extern "C" __global__ void __launch_bounds__(kScaleThreads)
rounded_scale_128x64(__grid_constant__ OperandSource const source,
                     __grid_constant__ ScaledRows const rows) {
    scale_pass<128, 64>(source, rows);
}

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)
rounded_kernel(__grid_constant__ CUtensorMap const map_q, __grid_constant__ CUtensorMap const map_k,
               __grid_constant__ CUtensorMap const map_v, __grid_constant__ CUtensorMap const map_y,
               __grid_constant__ AttentionExtents const extents,
               __grid_constant__ AttentionFactors const factors) {
    attention<Config>(map_q, map_k, map_v, map_y, extents, NoBias{}, factors);
}

