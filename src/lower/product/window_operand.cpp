#include "lower/product/window_operand.h"

#include <algorithm>

#include "ir/dims.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

// The window behind a view of its permuted dimensions; nullopt for other values.
std::optional<ExprId> window_behind(const ir::Kernel& kernel, ExprId operand) {
    const auto* view = std::get_if<ir::View>(&kernel[operand].node);
    if (!view) return std::nullopt;
    ExprId behind = view->x;
    while (const auto* permute = std::get_if<ir::Permute>(&kernel[behind].node))
        behind = permute->x;
    return std::holds_alternative<ir::Window>(kernel[behind].node) ? std::optional(behind)
                                                                   : std::nullopt;
}

std::vector<DimId> joined(std::vector<DimId> list, const std::vector<DimId>& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

// The dimensions of what the window looks at, as window_operand() takes them: images first, then
// those with windows, then channels. nullopt if there are others, or if it is a single image.
std::optional<std::vector<DimId>> channels_last(const ir::Kernel& kernel,
                                                const ir::Window& window) {
    const auto& dims = kernel[window.x].type.dims;
    if (dims.size() != window.places.size() + 2) return std::nullopt;
    std::vector<DimId> order, others;
    for (const DimId dim : dims) {
        const bool has_windows = std::ranges::any_of(
            window.places, [&](DimId places) { return kernel[places].window->of == dim; });
        (has_windows ? order : others).push_back(dim);
    }
    if (others.size() != 2 || others.front() != dims.front()) return std::nullopt;
    return joined(joined({others.front()}, order), {others.back()});
}

}  // namespace

std::optional<WindowOperand> window_operand(const ir::Kernel& kernel, ExprId operand, Side side) {
    const auto behind = window_behind(kernel, operand);
    if (!behind) return std::nullopt;
    const auto& window = std::get<ir::Window>(kernel[*behind].node);
    const auto& dims = kernel[window.x].type.dims;
    const std::size_t windowed = window.places.size();
    if (window.outside != 0 || windowed > 3 || dims.size() < windowed + 1 ||
        dims.size() > windowed + 2)
        return std::nullopt;
    WindowOperand found;
    found.images = window.x;
    const std::size_t first = dims.size() - windowed - 1;  // of the dimensions with windows
    if (first == 1) found.image = 0;
    std::vector<DimId> places, depth;
    for (std::size_t i = first; i + 1 < dims.size(); ++i) {
        const auto along = std::ranges::find_if(
            window.places, [&](DimId dim) { return kernel[dim].window->of == dims[i]; });
        if (along == window.places.end()) return std::nullopt;
        places.push_back(*along);
        depth.push_back(kernel[*along].window->taps);
        found.places.insert(found.places.begin(), *along);
    }
    depth.push_back(dims.back());

    // The value before it was merged has all of these in order, and so has the merged one.
    const std::vector<DimId> image(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first));
    const auto& merged = kernel[operand].type.dims;
    const bool is_batch = merged.size() == 3 && !image.empty() && merged.front() == image.front();
    const bool is_first = side == Side::first;
    if (merged.size() != 2 && !is_batch) return std::nullopt;
    if (!is_first && !is_batch && !image.empty()) return std::nullopt;  // not image by image
    const auto all = joined(image, is_first ? joined(places, depth) : joined(depth, places));
    const auto& before = kernel[std::get<ir::View>(kernel[operand].node).x].type.dims;
    const DimId k = is_first ? merged.back() : merged[merged.size() - 2];
    if (before != all || kernel.factors({k}) != kernel.factors(depth)) return std::nullopt;
    return found;
}

ir::Kernel with_channels_last(const ir::Kernel& kernel) {
    std::vector<bool> is_operand(kernel.exprs.size());
    for (const ir::Expr& expr : kernel.exprs)
        if (const auto* product = std::get_if<ir::Product>(&expr.node))
            for (const ExprId operand : {product->a, product->b})
                if (const auto window = window_behind(kernel, operand))
                    is_operand[ir::index(*window)] = true;
    if (std::ranges::none_of(is_operand, [](bool is) { return is; })) return kernel;

    ir::Kernel to = kernel;
    to.exprs.clear();
    ir::Builder build(to);
    std::vector<ExprId> copies;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        ir::Expr expr = kernel.exprs[i];
        ir::for_each_operand(expr.node, [&](ExprId& x) { x = copies[ir::index(x)]; });
        const auto order =
            is_operand[i] ? channels_last(to, std::get<ir::Window>(expr.node)) : std::nullopt;
        if (!order) {
            copies.push_back(to.add(std::move(expr)));
            continue;
        }
        const ir::Window window = std::get<ir::Window>(expr.node);
        const ExprId images = build.permute(window.x, *order);
        copies.push_back(
            build.permute(build.window(images, window.places, window.outside), expr.type.dims));
    }
    for (ir::Output& output : to.outputs) output.value = copies[ir::index(output.value)];
    return to;
}

}  // namespace fact::lower
