#include "lower/sm80/attention_shape.h"

#include <algorithm>

#include "support/division.h"

namespace fact::lower::sm80 {

int AttentionShape::shared_bytes() const {
    constexpr int kRowBytes = 128;  // of a slab, which has 64 features
    const auto slabs = [](int features) { return ceil_div(features, 64); };
    const int q = slabs(depth) * rows, stage = (slabs(depth) + slabs(width)) * columns;
    return (q + kStages * stage) * kRowBytes;
}

AttentionShape attention_shape(std::int64_t depth, std::int64_t width, std::int64_t rows,
                               bool biased) {
    AttentionShape shape;
    shape.depth = static_cast<int>(depth);
    shape.width = static_cast<int>(width);
    // Sums, scores and bias are held in registers: the more there are, the fewer columns, then
    // rows. Two thread blocks of four warps share a multiprocessor.
    const int features = std::max(shape.depth, shape.width);
    if (features > 64 || biased) shape.columns = 32;
    const bool few_rows = rows > 0 && rows <= 64;
    if (features > 128 || (features > 64 && biased) || few_rows) shape.rows = 64;
    return shape;
}

}  // namespace fact::lower::sm80
