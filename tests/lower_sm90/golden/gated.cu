#include "sm90/mainloop_paired.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 6;
    static constexpr int kProducts = 2;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = true;
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
gated_kernel(__grid_constant__ CUtensorMap const map_x, __grid_constant__ CUtensorMap const map_w,
             __grid_constant__ CUtensorMap const map_w2, __grid_constant__ CUtensorMap const map_y,
             __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order) {
    using Mainloop = MainloopPaired<Config>;
    product<Config, Mainloop>({map_x, map_w, map_w2}, map_y, map_y, extents, order, Finish{});
}
