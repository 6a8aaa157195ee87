#include "sm80/attention.cuh"

using namespace fact;
using namespace fact::sm80;

struct Config {
    using Element = half;
    static constexpr int kDepth = 64, kWidth = 96;
    static constexpr int kRows = 128, kColumns = 32;
    static constexpr bool kCausal = true, kBias = false;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kHeads = 0, kRepeats = 1;
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 2)
attend_kernel(__grid_constant__ Source<half> const operand_q,
              __grid_constant__ Source<half> const operand_k,
              __grid_constant__ Source<half> const operand_v,
              __grid_constant__ Output<half> const output_y,
              __grid_constant__ AttentionExtents const extents,
              __grid_constant__ LogSums const log_sums) {
    attention<Config>(operand_q, operand_k, operand_v, output_y, extents, NoBias{}, log_sums);
}
