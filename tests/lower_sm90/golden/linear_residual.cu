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
    static constexpr bool kStaged = true;
    static constexpr int kStagedBatch = 0b00;
};

struct Finish {
    Row<bf16> b;

    struct Fetched {
        Row<bf16>::Fetched b;
        StagedMatrix<bf16>::Fetched residual;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab), {}};
    }
    __device__ void read_staged(Fetched& at, unsigned char const* box, int lane, int first) const {
        StagedMatrix<bf16>::read(at.residual, box, lane, first);
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc + at.b.at(i);
        return at.residual.at(i) + t0;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_residual_kernel(__grid_constant__ CUtensorMap const map_x,
                       __grid_constant__ CUtensorMap const map_w,
                       __grid_constant__ CUtensorMap const map_y,
                       __grid_constant__ CUtensorMap const map_residual,
                       __grid_constant__ Extents const extents,
                       __grid_constant__ WalkOrder const order,
                       __grid_constant__ Finish const finish) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_residual, extents, order, finish);
}
