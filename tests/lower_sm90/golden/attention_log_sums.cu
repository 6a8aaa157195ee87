#include "sm90/attention.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kDepth = 64, kWidth = 96;
    static constexpr int kGroups = 2, kColumns = 128;
    static constexpr int kStages = 2, kRowStages = 2, kStoreBuffers = 2;
    static constexpr bool kCausal = true, kBias = false;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 0.f;
    static constexpr int kBatchK = 0b11, kBatchV = 0b11;
    static constexpr int kHeads = 0, kRepeats = 1;
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)
attend_kernel(__grid_constant__ CUtensorMap const map_q, __grid_constant__ CUtensorMap const map_k,
              __grid_constant__ CUtensorMap const map_v, __grid_constant__ CUtensorMap const map_y,
              __grid_constant__ AttentionExtents const extents,
              __grid_constant__ LogSums const log_sums) {
    attention<Config>(map_q, map_k, map_v, map_y, extents, NoBias{}, NoFactors{}, log_sums);
}
