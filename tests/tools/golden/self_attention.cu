// ---- self_attention: tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8); attention 128x128, 64 by 64 features; tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler persistent(raster: m, swizzle: 8)
#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "sm90/attention.cuh"

using namespace fact;

namespace self_attention_0 {
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
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return rounded<bf16>(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
self_attention_0_kernel(__grid_constant__ CUtensorMap const map_x,
                        __grid_constant__ CUtensorMap const map_wq,
                        __grid_constant__ CUtensorMap const map_q,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_wq}, map_q, map_q, extents, order, Finish{});
}
}  // namespace self_attention_0

namespace self_attention_1 {
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
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return rounded<bf16>(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
self_attention_1_kernel(__grid_constant__ CUtensorMap const map_x,
                        __grid_constant__ CUtensorMap const map_wk,
                        __grid_constant__ CUtensorMap const map_k,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_wk}, map_k, map_k, extents, order, Finish{});
}
}  // namespace self_attention_1

namespace self_attention_2 {
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
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return rounded<bf16>(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
self_attention_2_kernel(__grid_constant__ CUtensorMap const map_x,
                        __grid_constant__ CUtensorMap const map_wv,
                        __grid_constant__ CUtensorMap const map_v,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_wv}, map_v, map_v, extents, order, Finish{});
}
}  // namespace self_attention_2

namespace self_attention_3 {
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kDepth = 64, kWidth = 64;
    static constexpr int kGroups = 2, kColumns = 128;
    static constexpr int kStages = 2, kRowStages = 2, kStoreBuffers = 2;
    static constexpr bool kCausal = true, kBias = false;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kBatchK = 0b11, kBatchV = 0b11;
    static constexpr int kHeads = 0, kRepeats = 1;
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)
self_attention_3_kernel(__grid_constant__ CUtensorMap const map_q,
                        __grid_constant__ CUtensorMap const map_k,
                        __grid_constant__ CUtensorMap const map_v,
                        __grid_constant__ CUtensorMap const map_y,
                        __grid_constant__ AttentionExtents const extents) {
    attention<Config>(map_q, map_k, map_v, map_y, extents, NoBias{});
}
}  // namespace self_attention_3

namespace self_attention_4 {
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
    static constexpr bool kStaged = true;
    static constexpr int kStagedBatch = 0b01;
};

struct Finish {
    struct Fetched {
        StagedMatrix<bf16>::Fetched x;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {{}};
    }
    __device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int first) const {
        StagedMatrix<bf16>::read(at.x, box, lane, first);
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return at.x.at(i) + acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
self_attention_4_kernel(__grid_constant__ CUtensorMap const map_t,
                        __grid_constant__ CUtensorMap const map_wo,
                        __grid_constant__ CUtensorMap const map_y,
                        __grid_constant__ CUtensorMap const map_x,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_t, map_wo}, map_y, map_x, extents, order, Finish{});
}
}  // namespace self_attention_4

