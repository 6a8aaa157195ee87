#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"
#include "sm90/row_statistics.cuh"

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
    Column<float> center;
    Column<float> inverse;

    struct Fetched {
        Column<float>::Fetched center;
        Column<float>::Fetched inverse;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {center.fetch(slab), inverse.fetch(slab)};
    }
    __device__ Fetched fetch_right(Slab const&, Fetched const& left) const { return left; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc - at.center.at(i);
        return t0 * at.inverse.at(i);
    }
};

struct RowValues {
    using F = Functions<float>;
    static constexpr int kCount = 2;
    static constexpr bool kCentered = true;

    __device__ static void store(float* const (&values)[kCount], int row, float sum, float squares, int count) {
        float const center = F::divide(sum, static_cast<float>(count));
        values[0][row] = center;
        float const t0 = F::divide(squares, static_cast<float>(count));
        float const t1 = t0 + 1e-06f;
        float const inverse = F::rsqrt(t1);
        values[1][row] = inverse;
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
layer_norm_linear_kernel(__grid_constant__ CUtensorMap const map_x,
                         __grid_constant__ CUtensorMap const map_w,
                         __grid_constant__ CUtensorMap const map_y,
                         __grid_constant__ Extents const extents,
                         __grid_constant__ WalkOrder const order,
                         __grid_constant__ Finish const finish,
                         __grid_constant__ RowStatistics<bf16, RowValues> const statistics) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish, {}, statistics);
}
