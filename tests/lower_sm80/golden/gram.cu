#include "sm80/product.cuh"

using namespace fact;
using namespace fact::sm80;

struct Config {
    using Element = half;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kStages = 5;
    static constexpr int kWarpsM = 4, kWarpsN = 2;
    static constexpr Major kMajorA = Major::mn, kMajorB = Major::mn;
    static constexpr int kCopyBytesA = 16, kCopyBytesB = 16;
};

struct Finish {
    struct Fetched {};
    __device__ Fetched fetch(Slab const&) const { return {}; }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<half>;
        return acc;
    }
};

extern "C" __global__ void __launch_bounds__(kThreads<Config>, 1)
gram_kernel(__grid_constant__ Source<half> const operand_x,
            __grid_constant__ Source<half> const operand_w,
            __grid_constant__ StridedOutput<half> const output_y,
            __grid_constant__ Extents const extents, __grid_constant__ WalkOrder const order) {
    product<Config>(operand_x, operand_w, output_y, extents, order, Finish{});
}
