#include "sm80/product.cuh"

using namespace fact;
using namespace fact::sm80;

struct Config {
    using Element = bf16;
    static constexpr int kTileM = 128, kTileN = 128, kTileK = 32, kStages = 5;
    static constexpr int kWarpsM = 2, kWarpsN = 2;
    static constexpr Major kMajorA = Major::k, kMajorB = Major::k;
    static constexpr int kCopyBytesA = 16, kCopyBytesB = 16;
};

struct Finish {
    Row<bf16> b;

    struct Fetched {
        Row<bf16>::Fetched b;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {b.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        float const t0 = acc + at.b.at(i);
        return F::gelu_tanh(t0);
    }
};

extern "C" __global__ void __launch_bounds__(kThreads<Config>, 1)
linear_gelu_tanh_kernel(__grid_constant__ Source<bf16> const operand_x,
                        __grid_constant__ Source<bf16> const operand_w,
                        __grid_constant__ Output<bf16> const output_y,
                        __grid_constant__ Extents const extents,
                        __grid_constant__ WalkOrder const order,
                        __grid_constant__ Finish const finish) {
    product<Config>(operand_x, operand_w, output_y, extents, order, finish);
}
