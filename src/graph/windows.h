// Operators that see a tensor through windows: pooling and convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::graph {

// At place p, tap t is the element p * stride + t * dilation - before of the source's dimension. Of
// a transposed convolution it is element (p + before - t) / stride, if there is such a one
// (graph/phases.h), and `after` has no meaning.
struct WindowDim {
    std::size_t dim = 0;
    std::int64_t taps = 1, stride = 1, dilation = 1, before = 0, after = 0;
    std::int64_t places = 1;
};

enum class WindowKind {
    largest,
    average,
    depthwise,    // a convolution of each channel by itself
    convolution,  // of all channels together: a product
};

struct Windows {
    WindowKind kind{};
    ValueId source{};
    std::vector<WindowDim> dims;
    double divisor = 1;                   // of the sum of an average
    std::optional<ValueId> weight, bias;  // of a convolution
    bool transposed = false;              // the weight is [channels, features, ...]
};

// What the operator is, perhaps with arguments that read_windows() refuses; nullopt if it is none
// of these.
std::optional<WindowKind> window_kind(const Node& node);
// Whether it is one of these, and no product.
inline bool pools(const Node& node) {
    const auto kind = window_kind(node);
    return kind && *kind != WindowKind::convolution;
}

// An Error says why kernels do not compute the operator.
Result<Windows> read_windows(const Graph& graph, const Node& node);

}  // namespace fact::graph
