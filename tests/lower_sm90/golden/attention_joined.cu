#include "sm90/attention.cuh"

using namespace fact;
using namespace fact::sm90;

struct Config {
    using Element = bf16;
    using Output = bf16;
    static constexpr int kDepth = 64, kWidth = 96;
    static constexpr int kGroups = 2, kColumns = 128;
    static constexpr int kStages = 2, kRowStages = 2, kStoreBuffers = 2;
    static constexpr bool kCausal = true, kBias = true;
    static constexpr int kWindow = 0;
    static constexpr bool kZeroUnseen = false;
    static constexpr float kScale = 0.125f, kCap = 30.f;
    static constexpr int kBatchK = 0b11, kBatchV = 0b11;
    static constexpr int kHeads = 0, kRepeats = 1;
};

struct Bias {
    Matrix<bf16> by_head;
    Row<bool> present;

    struct Fetched {
        Matrix<bf16>::Fetched by_head;
        Row<bool>::Fetched present;
    };
    __device__ Fetched fetch(Slab const& slab) const {
        return {by_head.fetch(slab), present.fetch(slab)};
    }

    __device__ float operator()(float acc, Fetched const& at, Slab const& slab, int i) const {
        using F = Functions<bf16>;
        return at.present.at(i) ? at.by_head.at(i) : -INFINITY;
    }
};

extern "C" __global__ void __launch_bounds__(AttentionShapes<Config>::kThreads, 1)
attend_kernel(__grid_constant__ CUtensorMap const map_q, __grid_constant__ CUtensorMap const map_k,
              __grid_constant__ CUtensorMap const map_v, __grid_constant__ CUtensorMap const map_y,
              __grid_constant__ AttentionExtents const extents, __grid_constant__ Bias const bias) {
    attention<Config>(map_q, map_k, map_v, map_y, extents, bias);
}
