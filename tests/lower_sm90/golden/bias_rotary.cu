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

    Repeated<Matrix<bf16>, 128> cosine;
    Repeated<Matrix<bf16>, 128> sine;
    Row<bf16> bias;

    struct Fetched {
        Repeated<Matrix<bf16>, 128>::Fetched cosine;
        Repeated<Matrix<bf16>, 128>::Fetched sine;
        Row<bf16>::Fetched bias;
        Row<bf16>::Fetched bias_flipped;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        int const column = slab.column + (slab.column / 64 % 2 == 0 ? 64 : -64);
        Slab const across{slab.row, column, slab.batch, slab.extents};
        return {cosine.fetch(slab), sine.fetch(slab), bias.fetch(slab), bias.fetch(across)};
    }

    __device__ float operator()(float acc, float flipped, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc + at.bias.at(i);
        float const t1 = t0 * at.cosine.at(i);
        float const t2 = flipped + at.bias_flipped.at(i);
        int const t3 = slab.column / 64 % 2;
        bool const t4 = t3 == 0;
        float const t5 = t4 ? -1.f : 1.f;
        float const t6 = t2 * t5;
        float const t7 = t6 * at.sine.at(i);
        float const t8 = t1 + t7;
        return t8;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_bias_rotary_kernel(__grid_constant__ CUtensorMap const map_x,
                          __grid_constant__ CUtensorMap const map_w,
                          __grid_constant__ CUtensorMap const map_y,
                          __grid_constant__ Extents const extents,
                          __grid_constant__ WalkOrder const order,
                          __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);
}
