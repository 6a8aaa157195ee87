#include "sm80/attention.cuh"

using namespace fact;
using namespace fact::sm80;

struct Config {
    using Element = half;
    static constexpr int kDepth = 64, kWidth = 96;
    static constexpr int kRows = 64, kColumns = 32;
    static constexpr bool kCausal = false, kBias = true;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = true;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kHeads = 0, kRepeats = 1;
};

struct Bias {
    Row<bool> seen;

    struct Fetched {
        Row<bool>::Fetched seen;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {seen.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<half>;
        return at.seen.at(i) ? 0.f : -INFINITY;
    }
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 2)
attend_kernel(__grid_constant__ Source<half> const operand_q,
              __grid_constant__ Source<half> const operand_k,
              __grid_constant__ Source<half> const operand_v,
              __grid_constant__ Output<half> const output_y,
              __grid_constant__ AttentionExtents const extents, __grid_constant__ Bias const bias) {
    attention<Config>(operand_q, operand_k, operand_v, output_y, extents, bias);
}
