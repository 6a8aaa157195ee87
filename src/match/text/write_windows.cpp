// Writes pooling and convolutions. Functions of KernelWriter (kernel_writer.h).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/dims.h"
#include "match/text/kernel_writer.h"

namespace fact::match {

using graph::WindowKind;
using ir::DimId;
using ir::ExprId;
using ir::joined;
using Dims = std::vector<DimId>;

namespace {

// With fewer channels cuDNN was seen to multiply in f32, even where TF32 is allowed: a kernel in
// TF32 would be less accurate than torch.
constexpr std::int64_t kFewChannels = 16;

}  // namespace

// The dimension of the taps: that of a weight, or else a new one.
DimId KernelWriter::taps_dim(const AxisWindow& window) {
    if (const auto known = forms_->axis_dim(window.taps)) {
        kernel_.dims[ir::index(*known)].extent = window.rule.taps;
        return *known;
    }
    std::string name = "R";
    const auto taken = [&] {
        return std::ranges::find(kernel_.dims, name, &ir::Dim::name) != kernel_.dims.end();
    };
    while (taken() && name < "T") ++name[0];
    return fresh_dim(taken() ? "R" : name, window.rule.taps);
}

DimId KernelWriter::fresh_dim(const std::string& name, std::optional<std::int64_t> extent) {
    std::string found = name;
    const auto taken = [&] {
        return std::ranges::find(kernel_.dims, found, &ir::Dim::name) != kernel_.dims.end();
    };
    for (int i = 2; taken(); ++i) found = fmt::format("{}{}", name, i);
    kernel_.dims.push_back({found, extent});
    return static_cast<DimId>(kernel_.dims.size() - 1);
}

ExprId KernelWriter::without(ExprId x, const Dims& dims) {
    if (dims.empty()) return x;
    return build_.cast(kernel_[x].type.dtype, build_.reduce(ir::ReduceOp::max, x, dims));
}

Dims KernelWriter::dims_of(const std::vector<Axis>& axes) const {
    Dims dims;
    for (const Axis axis : axes)
        if (const auto dim = forms_->axis_dim(axis)) dims.push_back(*dim);
    return dims;
}

// `x`, which has the dimensions `of`, seen through the node's windows. Single taps of a product are
// reduced at once: no weight has such a dimension.
KernelWriter::OpenWindows KernelWriter::open_windows(const AxisWindows& windows, ExprId x,
                                                     const Dims& of, WindowKind kind) {
    OpenWindows open;
    Dims single_taps;
    for (std::size_t i = 0; i < of.size(); ++i) {
        const AxisWindow& window = windows.windows[i];
        const graph::WindowDim& rule = window.rule;
        const DimId taps = taps_dim(window), places = *forms_->axis_dim(window.places);
        kernel_.dims[ir::index(places)].window =
            ir::WindowRule{of[i], taps, rule.stride, rule.dilation, rule.before, rule.after};
        open.places.push_back(places);
        const bool reduced = rule.taps == 1 && kind == WindowKind::convolution;
        (reduced ? single_taps : open.taps).push_back(taps);
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double outside = kind == WindowKind::largest ? -kInfinity : 0;
    if (!of.empty()) x = build_.window(x, open.places, outside);
    open.x = without(x, single_taps);
    return open;
}

// Whether a convolution's results are after its places in what the kernel keeps in memory.
bool KernelWriter::has_channels_last(const AxisWindows& windows) const {
    const auto place = [&](Axis axis) {
        return std::ranges::find_if(layout_.atoms, [&](const Atom& atom) {
            return std::ranges::find(atom.axes, axis) != atom.axes.end();
        });
    };
    return place(windows.features.back()) > place(windows.windows.back().places);
}

// The product of windows and a convolution's weights, summed over taps and channels; nullopt if one
// of its dimensions has a single element. Either pixels are the rows and channels the columns, or
// the other way round with a batch of images: whatever is contiguous in the result is contiguous in
// the product.
std::optional<ExprId> KernelWriter::convolved(const AxisWindows& windows, const OpenWindows& open,
                                              ExprId weight) {
    const Dims channels = dims_of(windows.channels), phases = phase_dims(windows);
    Dims features = dims_of(windows.features);
    if (features.size() > 1) features = {kernel_.factored_dim(features)};
    const bool channels_last = has_channels_last(windows);
    const Dims summed = joined(open.taps, channels);
    features = channels_last ? joined(phases, features) : joined(features, phases);
    if (summed.empty() || features.empty()) return std::nullopt;
    Dims images;
    for (const DimId dim : kernel_[open.x].type.dims)
        if (!ir::contains(joined(open.places, summed), dim)) images.push_back(dim);
    const DimId k = kernel_.factored_dim(summed);
    const ExprId w = build_.view(build_.permute(weight, joined(features, summed)),
                                 {kernel_.factored_dim(features), k});
    std::int64_t num_channels = 1;
    for (const DimId dim : channels) num_channels *= extents_.at(kernel_[dim].name);
    const bool rounds =
        allow_tf32_ && kernel_[weight].type.dtype == DType::f32 && num_channels >= kFewChannels;
    const auto precision = rounds ? ir::Precision::tf32 : ir::Precision::exact;
    const Dims pixels = joined(images, open.places);
    ExprId acc;
    if (channels_last) {
        const ExprId rows = build_.view(build_.permute(open.x, joined(pixels, summed)),
                                        {kernel_.factored_dim(pixels), k});
        acc = build_.product(rows, build_.transpose(w), precision);
    } else {
        const Dims order = joined(joined(images, summed), open.places);
        const ExprId columns = build_.view(build_.permute(open.x, order),
                                           joined(images, {k, kernel_.factored_dim(open.places)}));
        acc = build_.product(w, columns, precision);
    }
    kernel_.exprs[ir::index(acc)].name = "acc";
    return build_.view(acc, channels_last ? joined(pixels, features)
                                          : joined(joined(images, features), open.places));
}

std::string KernelWriter::write_windows(graph::NodeId id) {
    const graph::Node& node = graph_[id];
    const auto read = graph::read_windows(graph_, node);
    if (!read) return read.error().message;
    const AxisWindows& windows = region_.anchor.space.windows().at(id);
    const bool largest = read->kind == WindowKind::largest;
    ExprId x = values_.at(read->source);
    const DType dtype = graph_[read->source].type->dtype;
    const bool has_product = region_.anchor.node != kNoProduct;
    // As for row-wise operators: what a product's kernel stores is as small as torch's value. So
    // are images that are computed for a product.
    const bool multiplies = has_product || read->kind == WindowKind::convolution;
    if (multiplies && dtype != DType::f32) x = build_.cast(dtype, x);

    AxisGroups axes{windows.whole};
    for (const AxisWindow& window : windows.windows) axes.push_back({window.of});
    const auto exposed = forms_->expose_axes(x, axes);
    Dims of;
    for (std::size_t i = 0; i < windows.windows.size(); ++i) {
        if (exposed[i + 1].size() != 1 || !forms_->axis_dim(windows.windows[i].places))
            return fmt::format("{} works on windows of a dimension that is split", node.name);
        of.push_back(exposed[i + 1].front());
    }
    const OpenWindows open =
        read->transposed ? open_phases(windows, x) : open_windows(windows, x, of, read->kind);
    std::optional<ExprId> weight, product;
    if (read->weight) weight = phased_weight(windows, build_.param(param_of(id, "weight")));
    if (read->kind == WindowKind::convolution) product = convolved(windows, open, *weight);
    if (product) {
        x = joined_phases(windows, *product);
    } else if (!phase_dims(windows).empty()) {
        return "its results are not sums";
    } else {
        x = build_.permute(open.x, sorted_with_taps(kernel_[open.x].type.dims, open.taps));
        if (read->weight) {
            const Dims dims = kernel_[*weight].type.dims;
            // A kernel that sees through windows reverses nothing.
            if (std::holds_alternative<ir::Flip>(kernel_[*weight].node)) {
                kernel_.exprs[ir::index(*weight)].name = unique("reversed");
                kernel_.exprs[ir::index(*weight)].stored = true;
            }
            // Neighbouring channels are read in one access, and so should be their weights.
            Dims own = dims, taps = open.taps;
            std::erase_if(own, [&](DimId dim) { return ir::contains(open.taps, dim); });
            std::erase_if(taps, [&](DimId dim) { return !ir::contains(dims, dim); });
            const bool channels_last =
                !own.empty() && forms_->sorted(joined(own, open.places)).back() == own.back();
            if (channels_last && !taps.empty()) {
                *weight = build_.permute(*weight, joined(taps, own));
                kernel_.exprs[ir::index(*weight)].name = unique("by_taps");
                kernel_.exprs[ir::index(*weight)].stored = true;
            }
            std::vector<ExprId> both{x, build_.permute(*weight, forms_->sorted(dims))};
            forms_->align(both);
            x = build_.binary(ir::BinaryOp::mul, both[0], both[1]);
        }
        const Dims over = joined(joined(exposed.front(), open.taps), dims_of(windows.channels));
        const auto op = largest ? ir::ReduceOp::max : ir::ReduceOp::sum;
        if (!over.empty()) x = build_.reduce(op, x, over);
        tag(x, largest ? "max_pool" : read->weight ? "depthwise" : "avg_pool");
    }
    if (read->kind == WindowKind::average)
        x = build_.binary(ir::BinaryOp::div, x, build_.literal(read->divisor));
    x = build_.permute(x, forms_->sorted(kernel_[x].type.dims));
    if (read->bias) x = add_to(x, load(param_of(id, "bias")), 1);
    values_[node.outputs.front()] = x;
    return "";
}

// Dimensions in the layout's order, which taps without a weight are not part of: these stay last.
Dims KernelWriter::sorted_with_taps(Dims dims, const Dims& taps) const {
    const auto unplaced = [&](DimId dim) {
        return ir::contains(taps, dim) && !forms_->has_dim(dim);
    };
    Dims last;
    std::ranges::copy_if(dims, std::back_inserter(last), unplaced);
    std::erase_if(dims, unplaced);
    return joined(forms_->sorted(std::move(dims)), last);
}

}  // namespace fact::match
