#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = true;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    static constexpr int kFlip = 64;
    static constexpr int kPeriod = 128;

    Repeated<Matrix<bf16>, 128> cosine;
    Repeated<Matrix<bf16>, 128> sine;

    struct Fetched {
        Repeated<Matrix<bf16>, 128>::Fetched cosine;
        Repeated<Matrix<bf16>, 128>::Fetched sine;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {cosine.fetch(slab), sine.fetch(slab)};
    }

    __device__ float operator()(float acc, float flipped, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc * at.cosine.at(i);
        int const t1 = slab.column / 64 % 2;
        bool const t2 = t1 == 0;
        float const t3 = t2 ? -1.f : 1.f;
        float const t4 = flipped * t3;
        float const t5 = t4 * at.sine.at(i);
        float const t6 = t0 + t5;
        return t6;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_rotary_kernel(__grid_constant__ CUtensorMap const map_x,
                     __grid_constant__ CUtensorMap const map_w,
                     __grid_constant__ CUtensorMap const map_y,
                     __grid_constant__ Extents const extents,
                     __grid_constant__ WalkOrder const order,
                     __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);
}
