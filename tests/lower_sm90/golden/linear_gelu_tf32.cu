#include "sm90/mainloop_tf32.cuh"
#include "sm90/prepare_pass.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Output = float;
    static constexpr int kTileM = 128, kTileN = 256, kTileK = 32, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 2, kClusterN = 1;
    static constexpr bool kPingpong = false;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    Row<float> b;

    struct Fetched {
        Row<float>::Fetched b;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<float>;
        float const t0 = acc + at.b.at(i);
        return F::gelu_tanh(t0);
    }
};

using Mainloop = MainloopTf32<Config>;

extern "C" __global__ void __launch_bounds__(kPassThreads)
linear_gelu_tanh_maximum(__grid_constant__ OperandSource const source,
                         __grid_constant__ PreparedRows const rows) {
    maximum_pass(source, rows);
}

extern "C" __global__ void __launch_bounds__(kPassThreads)
linear_gelu_tanh_prepare(__grid_constant__ OperandSource const source,
                         __grid_constant__ PreparedRows const rows) {
    prepare_pass<Mainloop::Numbers>(source, rows);
}

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
__cluster_dims__(2, 1, 1)
linear_gelu_tanh_kernel(__grid_constant__ CUtensorMap const map_x,
                        __grid_constant__ CUtensorMap const map_w_rows,
                        __grid_constant__ CUtensorMap const map_y,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order,
                        __grid_constant__ Finish const finish,
                        __grid_constant__ RowScalesOfB const scales) {
    product<Config, Mainloop>({map_x, map_w_rows, scales}, map_y, map_y, extents, order, finish);
}
