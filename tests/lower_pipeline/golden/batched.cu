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
    static constexpr int kBatchA = 0b111, kBatchB = 0b011;
    static constexpr bool kStaged = false;
};

struct Finish {
    using Slab = SlabOf<3>;
    Row<bf16, 3> bias;

    struct Fetched {
        Row<bf16, 3>::Fetched bias;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {bias.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        int const t0 = slab.batch[2];
        bool const t1 = t0 < 1;
        float const t2 = acc + at.bias.at(i);
        return t1 ? t2 : acc;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
batched_kernel(__grid_constant__ CUtensorMap const map_a, __grid_constant__ CUtensorMap const map_b,
               __grid_constant__ CUtensorMap const map_y,
               __grid_constant__ ExtentsOf<3> const extents,
               __grid_constant__ WalkOrder const order, __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_a, map_b}, map_y, map_y, extents, order, finish);
}
