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

extern "C" __global__ void __launch_bounds__(kThreads<Config>, 1)
matmul_scale_mask_kernel(__grid_constant__ Source<bf16> const operand_q,
                         __grid_constant__ Source<bf16> const operand_k,
                         __grid_constant__ Output<bf16> const output_y,
                         __grid_constant__ Extents const extents,
                         __grid_constant__ WalkOrder const order,
                         __grid_constant__ Finish const finish) {
    product<Config>(operand_q, operand_k, output_y, extents, order, finish);
}
