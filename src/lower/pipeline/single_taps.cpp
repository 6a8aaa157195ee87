#include "lower/pipeline/single_taps.h"

#include <algorithm>
#include <optional>

#include "ir/dims.h"
#include "lower/product/rewritten.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using Dims = std::vector<DimId>;

// The operand of a product that is windows, without some of their taps.
struct Windows {
    ExprId window{};
    Dims taken;    // taps of extent 1 that are taken away
    Dims ordered;  // the other dimensions, before some are merged
};

std::optional<Windows> windows_behind(const ir::Kernel& kernel, ExprId operand) {
    const auto* view = std::get_if<ir::View>(&kernel[operand].node);
    if (!view) return std::nullopt;
    ExprId behind = view->x;
    while (const auto* permute = std::get_if<ir::Permute>(&kernel[behind].node))
        behind = permute->x;
    if (const auto* cast = std::get_if<ir::Cast>(&kernel[behind].node)) behind = cast->x;
    const auto* reduce = std::get_if<ir::Reduce>(&kernel[behind].node);
    if (!reduce || reduce->op != ir::ReduceOp::max) return std::nullopt;
    const auto* window = std::get_if<ir::Window>(&kernel[reduce->x].node);
    const auto& type = kernel[view->x].type;
    if (!window || kernel[reduce->x].type.dtype != type.dtype) return std::nullopt;
    const auto is_single_tap = [&](DimId dim) {
        return kernel[dim].extent == 1 && std::ranges::any_of(window->places, [&](DimId places) {
                   return kernel[places].window->taps == dim;
               });
    };
    if (!std::ranges::all_of(reduce->over, is_single_tap)) return std::nullopt;
    return Windows{reduce->x, reduce->over, type.dims};
}

// `dims` with `more` in place of `dim`.
Dims replaced(const Dims& dims, DimId dim, const Dims& more) {
    Dims all;
    for (const DimId own : dims)
        if (own == dim)
            all.insert(all.end(), more.begin(), more.end());
        else
            all.push_back(own);
    return all;
}

// Rewrites the product if one of its operands is such windows.
void sum_over_single_taps(ir::Kernel& kernel, ir::Builder& build, ir::Product& product) {
    for (const bool second : {true, false}) {
        ExprId &seen = second ? product.b : product.a, &weight = second ? product.a : product.b;
        const auto windows = windows_behind(kernel, seen);
        if (!windows) continue;
        const Dims dims = kernel[seen].type.dims, weight_dims = kernel[weight].type.dims;
        const DimId k = second ? dims[dims.size() - 2] : dims.back();
        const Dims before = kernel.factors({k});
        // Taps in the order of their places, then channels.
        Dims summed;
        for (const DimId places : std::get<ir::Window>(kernel[windows->window].node).places)
            summed.push_back(kernel[places].window->taps);
        for (const DimId dim : before)
            if (!ir::contains(summed, dim)) summed.push_back(dim);
        const auto run = std::ranges::search(windows->ordered, before);
        if (run.empty() || summed.size() != before.size() + windows->taken.size()) continue;
        Dims order(windows->ordered.begin(), run.begin());
        order.insert(order.end(), summed.begin(), summed.end());
        order.insert(order.end(), run.end(), windows->ordered.end());
        const DimId all = kernel.factored_dim(summed);
        seen = build.view(build.permute(windows->window, order), replaced(dims, k, {all}));
        const Dims apart = replaced(weight_dims, k, before);
        const ExprId expanded =
            build.expand(build.view(weight, apart), ir::joined(apart, windows->taken));
        weight = build.view(build.permute(expanded, replaced(weight_dims, k, summed)),
                            replaced(weight_dims, k, {all}));
    }
}

}  // namespace

ir::Kernel with_single_taps(const ir::Kernel& kernel) {
    auto simpler =
        rewritten(kernel, [](ir::Kernel& to, ir::Builder& build, std::size_t, ir::Expr expr) {
            if (auto* product = std::get_if<ir::Product>(&expr.node))
                sum_over_single_taps(to, build, *product);
            return to.add(std::move(expr));
        });
    ir::drop_dead(simpler);
    return simpler;
}

}  // namespace fact::lower
