#include "graph/phases.h"

namespace fact::graph {

namespace {

std::int64_t floor_of(std::int64_t x, std::int64_t by) {
    return x >= 0 ? x / by : -((-x + by - 1) / by);
}
std::int64_t ceil_of(std::int64_t x, std::int64_t by) {
    return -floor_of(-x, by);
}

Phases skipping(const WindowDim& rule, std::int64_t extent, std::int64_t skipped) {
    const std::int64_t stride = rule.stride, padding = rule.before - skipped;
    // Relative to its place, a phase sees elements from the first of some phase to the last of one.
    const std::int64_t first = ceil_of(padding - rule.taps + 1, stride),
                       last = floor_of(padding + stride - 1, stride);
    Phases out;
    out.phases = stride;
    out.places = ceil_of(rule.places + skipped, stride);
    out.taps = last - first + 1;
    out.before = -first;
    out.after = out.places + last - extent;
    out.weight_before = stride * last - padding;
    out.weight_after = stride * out.taps - rule.taps - out.weight_before;
    out.skipped = skipped;
    out.dropped = out.places * stride - skipped - rule.places;
    return out;
}

}  // namespace

Phases phases_of(const WindowDim& rule, std::int64_t extent) {
    WindowDim filled = rule;  // zeros are taps too
    filled.taps = (rule.taps - 1) * rule.dilation + 1;
    filled.dilation = 1;
    Phases best = skipping(filled, extent, 0);
    // Fewer taps are worth more than a result without a margin: each is a share of the product.
    for (std::int64_t skipped = 1; skipped < rule.stride && skipped <= rule.before; ++skipped)
        if (const Phases next = skipping(filled, extent, skipped); next.taps < best.taps)
            best = next;
    if (best.phases == 1) {
        best.taps = rule.taps;
        best.dilation = rule.dilation;
    } else {
        best.apart = rule.dilation;
    }
    return best;
}

}  // namespace fact::graph
