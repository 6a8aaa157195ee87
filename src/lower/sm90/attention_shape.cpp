#include "lower/sm90/attention_shape.h"

#include <algorithm>

#include "support/division.h"

namespace fact::lower::sm90 {

namespace {

constexpr int kMaxShared = 227 * 1024;  // bytes that a thread block may use on sm90
// The widths that products with v can have.
constexpr int kWidths[] = {32, 64, 96, 128, 192, kMaxFeatures};

}  // namespace

int AttentionShape::shared_bytes() const {
    constexpr int kRowBytes = 128;  // of a slab, which has 64 features
    const auto slabs = [](int features) { return ceil_div(features, 64); };
    const int q = slabs(depth) * rows() * kRowBytes;
    const int k = slabs(depth) * columns * kRowBytes, v = slabs(width) * columns * kRowBytes;
    const int store = 4 * groups * kStoreBuffers * 2048;   // for the four warps of each group
    const int barriers = 16 * (row_stages + 2 * kStages);  // two per stage of q, k and v
    return round_up(row_stages * q + kStages * (k + v) + store + barriers, 1024);
}

AttentionShape attention_shape(std::int64_t depth, std::int64_t width, std::int64_t rows,
                               bool masked) {
    AttentionShape shape;
    shape.depth = static_cast<int>(round_up(depth, 16));
    shape.width = *std::ranges::find_if(kWidths, [&](int most) { return width <= most; });
    const int features = std::max(shape.depth, shape.width);
    // Scores, weights and sums are held in registers: the more features, the fewer columns.
    shape.columns = features <= 128 ? 128 : features <= 192 ? 96 : 64;
    // Few features leave registers for a third group, which pays if many rows see all columns; a
    // mask needs those registers.
    shape.groups = features <= 64 && rows >= 1024 && !masked ? 3 : 2;
    shape.row_stages = 2;
    if (shape.shared_bytes() > kMaxShared) shape.row_stages = 1;
    return shape;
}

}  // namespace fact::lower::sm90
