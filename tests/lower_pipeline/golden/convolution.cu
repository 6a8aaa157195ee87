#include "sm90/mainloop_half.cuh"
#include "sm90/product.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    using WindowsA = fact::Windows<Along<5, 1, 1, 2>, Along<3, 2, 1, 1>>;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 6;
    static constexpr int kStoreBuffers = 2;
    static constexpr int kClusterM = 1, kClusterN = 1;
    static constexpr bool kPingpong = true;
    static constexpr Deal kDeal = Deal::whole;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kBatchA = 0b00, kBatchB = 0b00;
    static constexpr bool kStaged = false;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return F::relu(acc);
    }
};

extern "C" __global__ void __launch_bounds__(kProductThreads, 1)
convolution_kernel(__grid_constant__ CUtensorMap const map_x,
                   __grid_constant__ CUtensorMap const map_w,
                   __grid_constant__ CUtensorMap const map_y,
                   __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order,
                   __grid_constant__ Config::WindowsA const windows) {
    using Mainloop = MainloopHalf<Config>;
    product<Config, Mainloop>({{map_x, windows}, map_w}, map_y, map_y, extents, order, Finish{});
}
