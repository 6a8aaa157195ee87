#include "lower/product/window_operand.h"

#include <algorithm>
#include <utility>

#include "ir/dims.h"
#include "ir/extents.h"
#include "lower/product/rewritten.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using ir::joined;

// WindowOperand::run of windows that are a product's first operand, image by image: a tap of all
// but the innermost dimension is whole lines, which fewer channels make together.
std::int64_t run_of(const ir::Kernel& kernel, const WindowOperand& windows) {
    const bool dense = std::ranges::all_of(windows.places, [&](DimId places) {
        const ir::WindowRule& rule = *kernel[places].window;
        return rule.stride == 1 && rule.dilation == 1 && rule.before == 0 && rule.after == 0 &&
               ir::constant_extent(kernel, rule.taps);
    });
    const ir::Type& type = kernel[windows.images].type;
    const auto channels = ir::constant_extent(kernel, type.dims.back());
    if (!dense || !channels) return 0;
    const std::int64_t pixel = *channels * info(type.dtype).bytes;
    const ir::WindowRule& innermost = *kernel[windows.places.front()].window;
    const std::int64_t taps = *ir::constant_extent(kernel, innermost.taps);
    const bool whole = pixel % 16 == 0 && pixel % kLineBytes != 0 && taps * pixel % kLineBytes == 0;
    return whole ? taps * *channels : 0;
}

}  // namespace

std::optional<std::vector<DimId>> channels_last(const ir::Kernel& kernel,
                                                const ir::Window& window) {
    const auto& dims = kernel[window.x].type.dims;
    const bool one_image = dims.size() == window.places.size() + 1;
    if (dims.size() != window.places.size() + 2 && !one_image) return std::nullopt;
    std::vector<DimId> order, others;
    for (const DimId dim : dims) {
        const bool has_windows = std::ranges::any_of(
            window.places, [&](DimId places) { return kernel[places].window->of == dim; });
        (has_windows ? order : others).push_back(dim);
    }
    if (one_image) return others.size() == 1 ? std::optional(joined(order, others)) : std::nullopt;
    if (others.size() != 2 || others.front() != dims.front()) return std::nullopt;
    return joined(joined({others.front()}, order), {others.back()});
}

std::optional<ExprId> window_behind(const ir::Kernel& kernel, ExprId operand) {
    const auto* view = std::get_if<ir::View>(&kernel[operand].node);
    if (!view) return std::nullopt;
    ExprId behind = view->x;
    while (const auto* permute = std::get_if<ir::Permute>(&kernel[behind].node))
        behind = permute->x;
    return std::holds_alternative<ir::Window>(kernel[behind].node) ? std::optional(behind)
                                                                   : std::nullopt;
}

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
    if (is_first && is_batch) found.run = run_of(kernel, found);
    return found;
}

ir::Kernel with_channels_last(const ir::Kernel& kernel) {
    std::vector<bool> is_operand(kernel.exprs.size());
    std::vector<int> uses(kernel.exprs.size());
    for (const ir::Expr& expr : kernel.exprs) {
        ir::for_each_operand(expr.node, [&](ExprId x) { ++uses[ir::index(x)]; });
        if (const auto* product = std::get_if<ir::Product>(&expr.node))
            for (const ExprId operand : {product->a, product->b})
                if (const auto window = window_behind(kernel, operand))
                    is_operand[ir::index(*window)] = true;
    }
    if (std::ranges::none_of(is_operand, [](bool is) { return is; })) return kernel;

    return rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t i, ir::Expr expr) {
        const auto* window = std::get_if<ir::Window>(&expr.node);
        const auto order = is_operand[i] ? channels_last(to, *window) : std::nullopt;
        if (!order) return to.add(std::move(expr));
        const ExprId images = build.permute(window->x, *order);
        // What only these windows read is stored in their order, not in both.
        const auto& before = std::get<ir::Window>(kernel.exprs[i].node);
        if (images != window->x && uses[ir::index(before.x)] == 1)
            to.exprs[ir::index(images)].stored =
                std::exchange(to.exprs[ir::index(window->x)].stored, false);
        return build.permute(build.window(images, window->places, window->outside), expr.type.dims);
    });
}

ir::Kernel with_tf32_numbers(const ir::Kernel& kernel) {
    std::vector<bool> rounds_images(kernel.exprs.size()), rounds_first(kernel.exprs.size());
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto* product = std::get_if<ir::Product>(&kernel.exprs[i].node);
        if (!product || product->precision != ir::Precision::tf32) continue;
        if (!window_operand(kernel, product->b, Side::second)) continue;
        rounds_first[i] = true;
        rounds_images[ir::index(*window_behind(kernel, product->b))] = true;
    }
    if (std::ranges::none_of(rounds_first, [](bool is) { return is; })) return kernel;

    return rewritten(kernel, [&](ir::Kernel& to, ir::Builder& build, std::size_t i, ir::Expr expr) {
        const auto round = [&](ExprId& x) { x = build.unary(ir::UnaryOp::tf32, x); };
        if (rounds_images[i]) round(std::get<ir::Window>(expr.node).x);
        if (rounds_first[i]) round(std::get<ir::Product>(expr.node).a);
        return to.add(std::move(expr));
    });
}

}  // namespace fact::lower
