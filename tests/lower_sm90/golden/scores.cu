#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 64, kStages = 4;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 2;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b11, kBatchB = 0b11;
    static constexpr bool kStaged = false;
};

struct Finish {
    Matrix<float> mask;

    struct Fetched {
        Matrix<float>::Fetched mask;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {mask.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        bool const t0 = at.mask.at(i) == 0.f;
        float const t1 = acc * 0.125f;
        return t0 ? -INFINITY : t1;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
matmul_scale_mask_kernel(__grid_constant__ CUtensorMap const map_q,
                         __grid_constant__ CUtensorMap const map_k,
                         __grid_constant__ CUtensorMap const map_y,
                         __grid_constant__ Extents const extents,
                         __grid_constant__ WalkOrder const order,
                         __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_q, map_k}, map_y, map_y, extents, order, finish);
}
