// How much of q, k and v the attention skeleton holds at a time.
#pragma once

#include <cstdint>

namespace fact::lower::sm80 {

// As kernels/sm80/attention_tiles.cuh lays it out.
struct AttentionShape {
    static constexpr int kThreads = 128, kStages = 2;
    // What a block may have on every GPU from sm80 on: an A100 has more.
    static constexpr int kMaxShared = 99 * 1024;

    int rows = 128, columns = 64;  // of a block's scores
    int depth = 0, width = 0;      // features of q and k, of v

    int shared_bytes() const;
};

// For heads of these features, kMaxFeatures at the most, and so many rows (or kUnknownExtent);
// `biased`: something is added to the scores.
AttentionShape attention_shape(std::int64_t depth, std::int64_t width, std::int64_t rows,
                               bool biased);

}  // namespace fact::lower::sm80
