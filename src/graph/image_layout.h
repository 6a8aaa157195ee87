// How images lie in memory, and what that costs their convolutions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// Of a tensor with channels as its second dimension and two or three after it.
enum class ImageLayout {
    other,   // it is no such tensor, or its elements are in neither order
    first,   // as torch makes tensors
    last,    // channels last
    either,  // both are the same: it has one channel, or one pixel
};

// Whether its elements can be counted in 46 bits, so that no stride or offset overflows.
bool has_sane_size(const TensorType& type);

ImageLayout image_layout(const std::optional<TensorType>& type);

std::vector<std::int64_t> channels_first_strides(const std::vector<std::int64_t>& sizes);
std::vector<std::int64_t> channels_last_strides(const std::vector<std::int64_t>& sizes);
// A stride along a single element does not matter.
bool same_strides(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& a,
                  const std::vector<std::int64_t>& b);

// Bytes of all elements, as if they were dense.
double bytes_of(const TensorType& type);
// Bytes that a copy reads and writes.
double copy_traffic(const TensorType& type);

// Whether a product can walk windows in memory, on a GPU that can: rows of channels must have the
// right lengths (lower/pipeline/plan.cpp). Images that are not channels last are stored so first.
bool walks_windows(DType dtype, std::int64_t channels, bool channels_last);

// Bytes that a convolution saves if its images, which are channels first, are channels last; less
// than 0 if it then moves more, and 0 for other operators.
double saved_by_channels_last(const Graph& graph, const Node& node);

}  // namespace fact::graph
