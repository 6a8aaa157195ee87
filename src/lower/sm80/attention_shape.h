// The sizes of the tiles of q, k and v in the attention skeleton.
#pragma once

#include <cstdint>

namespace fact::lower::sm80 {

// As in kernels/sm80/attention_tiles.cuh.
struct AttentionShape {
    static constexpr int kThreads = 128, kStages = 2;
    // Bytes of shared memory that a thread block may use on every GPU from sm80 on.
    static constexpr int kMaxShared = 99 * 1024;

    int rows = 128, columns = 64;  // of a thread block's scores
    int depth = 0, width = 0;      // features of q and k; of v

    int shared_bytes() const;
};

// `depth`, `width`: features, at most kMaxFeatures; `rows` may be kUnknownExtent; `biased`: a bias
// is added to the scores.
AttentionShape attention_shape(std::int64_t depth, std::int64_t width, std::int64_t rows,
                               bool biased);

}  // namespace fact::lower::sm80
