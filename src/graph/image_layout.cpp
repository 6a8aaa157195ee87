#include "graph/image_layout.h"

#include <algorithm>
#include <numeric>

#include "graph/windows.h"

namespace fact::graph {

namespace {

using Ints = std::vector<std::int64_t>;

Ints dense_strides(const Ints& sizes, const std::vector<std::size_t>& innermost_first) {
    Ints strides(sizes.size(), 1);
    std::int64_t next = 1;
    for (const std::size_t dim : innermost_first) {
        strides[dim] = next;
        next *= sizes[dim];
    }
    return strides;
}

// Bytes that a convolution's kernels copy before they see images through windows: none from
// channels last, the images from channels first, and all windows where they cannot be walked.
double copied_for_windows(const Graph& graph, const Windows& windows, ValueId result, bool last) {
    const TensorType &images = *graph[windows.source].type, &made = *graph[result].type;
    const std::int64_t channels = images.sizes[1];
    std::int64_t row = last ? made.sizes[1] : 1;  // of results
    double terms = 1, places = 1;                 // of a result, of a channel
    for (const WindowDim& dim : windows.dims) {
        const std::int64_t phases = windows.transposed ? dim.stride : 1;
        const std::int64_t of_phase = (dim.places + phases - 1) / phases;
        const std::int64_t filled = phases > 1 ? dim.dilation * (dim.taps - 1) + 1 : dim.taps;
        terms *= static_cast<double>((filled + phases - 1) / phases);
        places *= static_cast<double>(of_phase);
        if (!last) row *= of_phase;
    }
    if (terms > 1 && walks_windows(images.dtype, channels, last) &&
        row * info(images.dtype).bytes % 16 == 0)
        return last ? 0 : copy_traffic(images);
    const double rows = static_cast<double>(images.sizes[0] * channels) * places;
    return 2 * info(images.dtype).bytes * rows * terms;
}

}  // namespace

Ints channels_first_strides(const Ints& sizes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    return dense_strides(sizes, order);
}

Ints channels_last_strides(const Ints& sizes) {
    std::vector<std::size_t> order{1};
    for (std::size_t dim = sizes.size(); dim-- > 2;) order.push_back(dim);
    order.push_back(0);
    return dense_strides(sizes, order);
}

bool same_strides(const Ints& sizes, const Ints& a, const Ints& b) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] > 1 && a[i] != b[i]) return false;
    return true;
}

bool has_sane_size(const TensorType& type) {
    constexpr double kMostElements = 1ll << 46;
    double elements = 1;
    for (const std::int64_t size : type.sizes) elements *= static_cast<double>(size);
    return std::ranges::all_of(type.sizes, [](std::int64_t size) { return size > 0; }) &&
           elements <= kMostElements;
}

ImageLayout image_layout(const std::optional<TensorType>& type) {
    if (!type || type->dynamic || (type->sizes.size() != 4 && type->sizes.size() != 5))
        return ImageLayout::other;
    if (!has_sane_size(*type)) return ImageLayout::other;
    const bool first =
        same_strides(type->sizes, type->strides, channels_first_strides(type->sizes));
    const bool last = same_strides(type->sizes, type->strides, channels_last_strides(type->sizes));
    return first && last ? ImageLayout::either
           : first       ? ImageLayout::first
           : last        ? ImageLayout::last
                         : ImageLayout::other;
}

double bytes_of(const TensorType& type) {
    double bytes = info(type.dtype).bytes;
    for (const std::int64_t size : type.sizes) bytes *= static_cast<double>(size);
    return bytes;
}

double copy_traffic(const TensorType& type) {
    return 2 * bytes_of(type);
}

bool walks_windows(DType dtype, std::int64_t channels, bool channels_last) {
    const std::int64_t unit = info(dtype).bytes < 4 ? 8 : channels_last ? 32 : 4;
    return channels % unit == 0;
}

double saved_by_channels_last(const Graph& graph, const Node& node) {
    if (window_kind(node) != WindowKind::convolution) return 0;
    const auto windows = read_windows(graph, node);
    if (!windows) return 0;
    const ValueId result = node.outputs.front();
    return copied_for_windows(graph, *windows, result, false) -
           copied_for_windows(graph, *windows, result, true);
}

}  // namespace fact::graph
