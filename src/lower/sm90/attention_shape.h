// The sizes of the tiles of q, k and v in the attention skeleton.
#pragma once

#include <cstdint>

#include "lower/attention/attention_form.h"

namespace fact::lower::sm90 {

// As in kernels/sm90/attention.cuh.
struct AttentionShape {
    static constexpr int kStages = 2, kStoreBuffers = 2;

    int groups = 2;            // consumer groups, of 64 rows each
    int columns = 128;         // of a tile of scores: rows of k and v
    int depth = 0, width = 0;  // features of q and k; of v; rounded up to what products take
    int row_stages = 2;        // tiles of q in shared memory

    int rows() const { return 64 * groups; }
    int threads() const { return 128 * (1 + groups); }
    int shared_bytes() const;
};

// `depth`, `width`: features, at most kMaxFeatures; `rows` may be kUnknownExtent; `masked`: there
// is a mask or a bias.
AttentionShape attention_shape(std::int64_t depth, std::int64_t width, std::int64_t rows,
                               bool masked);

}  // namespace fact::lower::sm90
