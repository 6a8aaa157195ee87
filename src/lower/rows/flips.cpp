#include "lower/rows/flips.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/dims.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;
using ir::index;

void toggle(Flips& flips, ir::DimId dim) {
    if (!flips.erase(dim)) flips.insert(dim);
}

class FlipMover {
  public:
    explicit FlipMover(const ir::Kernel& kernel) : from_(kernel), made_(kernel.exprs.size()) {}

    ir::Kernel run() {
        for (const ir::Output& output : from_.outputs) made_[index(output.value)][{}] = {};
        for (std::size_t i = from_.exprs.size(); i-- > 0;) request_operands(i);
        to_ = from_;
        to_.exprs.clear();
        for (std::size_t i = 0; i < from_.exprs.size(); ++i)
            for (auto& [flips, id] : made_[i]) id = make(i, flips);
        for (ir::Output& output : to_.outputs) output.value = made_[index(output.value)].at({});
        return std::move(to_);
    }

  private:
    // Whether flips stop at this node: it is computed once, and its result is read backwards.
    bool stops_flips(const ir::Expr& expr) const {
        return std::visit(
            overloaded{
                [](const one_of<ir::Window, ir::Product, ir::Attention, ir::LogSumExp> auto&) {
                    return true;
                },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Unary,
                                ir::Binary, ir::Select, ir::Cast, ir::Permute, ir::Expand, ir::View,
                                ir::Flip, ir::Reduce> auto&) { return false; },
                // One that goes along a single dimension is turned around.
                [&](const ir::Scan& n) { return from_.factors(n.over).size() > 1; },
            },
            expr.node);
    }

    // With which flips the operand must be read so that the expression is read with `flips`.
    Flips operand_flips(const ir::Expr& expr, Flips flips, ExprId operand) const {
        if (stops_flips(expr)) return {};
        if (const auto* flip = std::get_if<ir::Flip>(&expr.node)) toggle(flips, flip->dim);
        const auto dims = from_.factors(from_[operand].type.dims);
        std::erase_if(flips, [&](ir::DimId dim) { return !contains(dims, dim); });
        return flips;
    }

    // Enters into made_ which versions of its operands the expression needs.
    void request_operands(std::size_t i) {
        const ir::Expr& expr = from_.exprs[i];
        if (stops_flips(expr) && !made_[i].empty()) made_[i][{}] = {};
        for (const auto& [flips, id] : made_[i])
            ir::for_each_operand(expr.node, [&](ExprId x) {
                made_[index(x)].try_emplace(operand_flips(expr, flips, x));
            });
    }

    // Adds expression `i` of the old kernel to the new one, as it is read with `flips`.
    ExprId make(std::size_t i, const Flips& flips) {
        ir::Expr expr = from_.exprs[i];
        if (stops_flips(expr) && !flips.empty())
            return flipped(made_[i].at({}), flips, expr.type.dims);
        if (const auto* flip = std::get_if<ir::Flip>(&expr.node))
            return made_[index(flip->x)].at(operand_flips(expr, flips, flip->x));
        const bool is_leaf = std::holds_alternative<ir::Param>(expr.node) ||
                             std::holds_alternative<ir::Index>(expr.node);
        const ir::Expr original = expr;
        ir::for_each_operand(expr.node, [&](ExprId& x) {
            x = made_[index(x)].at(operand_flips(original, flips, x));
        });
        if (auto* scan = std::get_if<ir::Scan>(&expr.node))
            scan->backwards ^= flips.contains(from_.factors(scan->over).front());
        // Names are unique: only the value that is not flipped keeps its name.
        if (!flips.empty()) expr.name.clear();
        const auto dims = expr.type.dims;
        const ExprId id = to_.add(std::move(expr));
        return is_leaf && !flips.empty() ? flipped(id, flips, dims) : id;
    }

    ExprId flipped(ExprId id, const Flips& flips, const std::vector<ir::DimId>& dims) {
        ir::Builder b(to_);
        std::vector<ir::DimId> split;  // only dimensions with a flipped factor are split
        for (const ir::DimId dim : dims) {
            const auto factors = to_.factors({dim});
            const bool unflipped = std::none_of(factors.begin(), factors.end(),
                                                [&](ir::DimId f) { return flips.contains(f); });
            if (unflipped)
                split.push_back(dim);
            else
                split.insert(split.end(), factors.begin(), factors.end());
        }
        id = b.view(id, split);
        for (const ir::DimId dim : flips) id = b.flip(id, dim);
        return b.view(id, dims);
    }

    const ir::Kernel& from_;
    ir::Kernel to_;
    // For each expression of from_, the versions that are needed: by their flips, the expression of
    // to_ (unset until make() returns it).
    std::vector<std::map<Flips, ExprId>> made_;
};

}  // namespace

ir::Kernel flips_at_leaves(const ir::Kernel& kernel) {
    const bool any = std::any_of(kernel.exprs.begin(), kernel.exprs.end(), [](const ir::Expr& e) {
        return std::holds_alternative<ir::Flip>(e.node);
    });
    return any ? FlipMover(kernel).run() : kernel;
}

std::optional<FlippedLeaf> flipped_leaf(const ir::Kernel& kernel, ExprId id) {
    if (!std::holds_alternative<ir::Flip>(kernel[id].node)) return std::nullopt;
    FlippedLeaf found;
    for (;;) {
        if (const auto* flip = std::get_if<ir::Flip>(&kernel[id].node)) {
            toggle(found.flips, flip->dim);
            id = flip->x;
        } else if (const auto* view = std::get_if<ir::View>(&kernel[id].node)) {
            id = view->x;
        } else {
            break;
        }
    }
    found.leaf = id;
    return found;
}

FlipSpan flip_span(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims,
                   ir::DimId flipped) {
    FlipSpan span;
    for (std::size_t i = dims.size(); i-- > 0 && dims[i] != flipped;)
        span.step *= *kernel[dims[i]].extent;
    span.length = span.step * *kernel[flipped].extent;
    return span;
}

std::map<std::uint32_t, std::set<Flips>> flips_per_param(const ir::Kernel& kernel) {
    std::map<std::uint32_t, std::set<Flips>> flips_of;
    std::vector<bool> needed(kernel.exprs.size());
    for (const ir::Output& output : kernel.outputs) needed[index(output.value)] = true;
    for (std::size_t i = kernel.exprs.size(); i-- > 0;) {
        if (!needed[i]) continue;
        const auto flipped = flipped_leaf(kernel, static_cast<ExprId>(i));
        const ir::Node& leaf = flipped ? kernel[flipped->leaf].node : kernel.exprs[i].node;
        if (const auto* param = std::get_if<ir::Param>(&leaf))
            flips_of[param->index].insert(flipped ? flipped->flips : Flips{});
        if (!flipped)
            ir::for_each_operand(kernel.exprs[i].node, [&](ExprId x) { needed[index(x)] = true; });
    }
    return flips_of;
}

}  // namespace fact::lower
