#include "lower/pipeline/windows.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/dims.h"
#include "ir/needed.h"
#include "ir/reorderings.h"
#include "lower/pipeline/uses.h"
#include "lower/product/scattered_output.h"
#include "lower/product/window_operand.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using ir::index;

bool is_window(const ir::Expr& expr) {
    return std::holds_alternative<ir::Window>(expr.node);
}

// Windows that products read as an operand, and nothing else reads.
std::set<ExprId> windows_of_products(const ir::Kernel& kernel) {
    std::set<ExprId> found;
    for (const ir::Expr& expr : kernel.exprs)
        if (const auto* product = std::get_if<ir::Product>(&expr.node)) {
            if (window_operand(kernel, product->a, Side::first))
                found.insert(*window_behind(kernel, product->a));
            if (window_operand(kernel, product->b, Side::second))
                found.insert(*window_behind(kernel, product->b));
        }
    std::erase_if(found, [&](ExprId id) { return users_of(kernel, id).size() > 1; });
    return found;
}

class WindowMover {
  public:
    WindowMover(const ir::Kernel& kernel, const StayingWindows& stay)
        : from_(kernel), stay_(stay), to_(kernel), build_(to_) {
        to_.exprs.clear();
        if (stay.operands) operands_ = windows_of_products(kernel);
    }

    ir::Kernel run() {
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            ir::Expr expr = from_.exprs[i];
            if (const auto* window = std::get_if<ir::Window>(&expr.node);
                window && !operands_.contains(static_cast<ExprId>(i)) && !is_in_memory(window->x)) {
                places_ = window->places;
                if (is_pointwise(window->x)) {
                    copies_.push_back(moved(expr, *window));
                    continue;
                }
                if (!stay_.cuts || !is_cut_off(from_, static_cast<ExprId>(i)))
                    to_.exprs[index(copies_[index(window->x)])].stored = true;
            }
            ir::for_each_operand(expr.node, [&](ExprId& x) { x = copies_[index(x)]; });
            copies_.push_back(to_.add(std::move(expr)));
        }
        for (ir::Output& output : to_.outputs) output.value = copies_[index(output.value)];
        ir::drop_dead(to_);
        return std::move(to_);
    }

  private:
    bool is_in_memory(ExprId id) const {
        const ExprId behind = ir::behind_reorderings(from_, id);
        return from_[behind].stored || stored_.contains(behind) || stored_.contains(id) ||
               std::holds_alternative<ir::Param>(from_[behind].node);
    }

    // Whether the value is computed element by element from tensors in memory, or from what has to
    // be there because it is normalised: its statistics read it, too. Then these are stored.
    bool is_pointwise(ExprId root) {
        std::set<ExprId> seen;
        std::vector<ExprId> open{root}, statistics, normalised;
        while (!open.empty()) {
            const ExprId id = open.back();
            open.pop_back();
            if (!seen.insert(id).second) continue;
            const bool varies = has_windowed_dims(id);
            if (is_in_memory(id)) {
                if (!varies) statistics.push_back(id);
                continue;
            }
            const ExprId behind = ir::behind_reorderings(from_, id);
            enum class Kind { pointwise, computed, other };
            const Kind kind = std::visit(
                overloaded{
                    [](const one_of<ir::Literal, ir::Index, ir::Extent, ir::Unary, ir::Binary,
                                    ir::Select, ir::Cast, ir::Permute, ir::Expand> auto&) {
                        return Kind::pointwise;
                    },
                    [&](const ir::View& view) {
                        return keeps_windowed_dims(view.x, id) ? Kind::pointwise : Kind::computed;
                    },
                    [](const one_of<ir::Reduce, ir::Product> auto&) { return Kind::computed; },
                    [](const one_of<ir::Param, ir::Flip, ir::Window, ir::Scan, ir::Attention,
                                    ir::LogSumExp> auto&) { return Kind::other; },
                },
                from_[is_computed(behind) ? behind : id].node);
            if (kind == Kind::other) return false;
            if (kind == Kind::computed) {
                // Windows look along whole dimensions of what is in memory.
                (varies ? normalised : statistics)
                    .push_back(keeps_windowed_dims(behind, id) ? behind : id);
                continue;
            }
            ir::for_each_operand(from_[id].node, [&](ExprId x) { open.push_back(x); });
        }
        const auto read = ir::needed_for(from_, statistics, [](ExprId) { return false; });
        if (!std::ranges::all_of(normalised, [&](ExprId id) { return read[index(id)]; }))
            return false;
        normalised.insert(normalised.end(), statistics.begin(), statistics.end());
        for (const ExprId id : normalised)
            if (!is_in_memory(id)) {
                stored_.insert(id);
                to_.exprs[index(copies_[index(id)])].stored = true;
            }
        return true;
    }

    bool has_windowed_dims(ExprId id) const {
        const auto dims = from_.factors(from_[id].type.dims);
        return std::ranges::any_of(places_, [&](DimId places) {
            return std::ranges::any_of(from_.factors({from_[places].window->of}),
                                       [&](DimId dim) { return ir::contains(dims, dim); });
        });
    }

    bool is_computed(ExprId id) const {
        return std::holds_alternative<ir::Reduce>(from_[id].node) ||
               std::holds_alternative<ir::Product>(from_[id].node);
    }

    // Whether the view leaves the dimensions whole that the window looks along.
    bool keeps_windowed_dims(ExprId x, ExprId view) const {
        return std::ranges::all_of(places_, [&](DimId places) {
            const DimId of = from_[places].window->of;
            return ir::contains(from_[x].type.dims, of) == ir::contains(from_[view].type.dims, of);
        });
    }

    // A window of a pointwise value as that pointwise value of windows.
    ExprId moved(const ir::Expr& expr, const ir::Window& window) {
        windowed_.clear();
        ExprId value = windowed(window.x);
        for (const DimId places : window.places) {
            const ir::WindowRule& rule = *from_[places].window;
            const ExprId at = coordinate(places);
            if (rule.before > 0)
                value = build_.select(build_.binary(ir::BinaryOp::ge, at, integer(0)), value,
                                      outside(window, expr));
            if (rule.after > 0)
                value = build_.select(build_.binary(ir::BinaryOp::lt, at, build_.extent(rule.of)),
                                      value, outside(window, expr));
        }
        value = build_.cast(expr.type.dtype, value);
        value = build_.permute(value, expr.type.dims);
        to_.exprs[index(value)].stored = expr.stored;
        return value;
    }

    ExprId outside(const ir::Window& window, const ir::Expr& expr) {
        return info(expr.type.dtype).floating ? build_.literal(window.outside)
                                              : integer(static_cast<std::int64_t>(window.outside));
    }
    ExprId integer(std::int64_t value) {
        return build_.literal(static_cast<double>(value), DType::i32);
    }

    // The element of the windowed dimension that a tap at a place is, over [places, taps].
    ExprId coordinate(DimId places) {
        const ir::WindowRule& rule = *from_[places].window;
        const auto both = [&](ExprId x) { return build_.expand(x, {places, rule.taps}); };
        const auto times = [&](ExprId x, std::int64_t factor) {
            return factor == 1 ? x : build_.binary(ir::BinaryOp::mul, x, integer(factor));
        };
        const ExprId first = both(times(build_.index(places), rule.stride));
        const ExprId tap = both(times(build_.index(rule.taps), rule.dilation));
        const ExprId at = build_.binary(ir::BinaryOp::add, first, tap);
        return rule.before == 0 ? at : build_.binary(ir::BinaryOp::sub, at, integer(rule.before));
    }

    // The places whose windowed dimension the value has.
    std::vector<DimId> places_in(const std::vector<DimId>& dims) const {
        std::vector<DimId> all;
        for (const DimId places : places_)
            if (ir::contains(dims, from_[places].window->of)) all.push_back(places);
        return all;
    }

    // The value as windows see it, dimensions in any order; what is outside has no meaning.
    ExprId windowed(ExprId id) {
        const auto places = places_in(from_[id].type.dims);
        if (places.empty()) return copies_[index(id)];
        if (const auto known = windowed_.find(id); known != windowed_.end()) return known->second;
        return windowed_[id] = windowed_anew(id, places);
    }

    // The value repeated along `dims`, so that an operand of fewer dimensions fits it.
    ExprId all_dims(ExprId id, const std::vector<DimId>& dims) {
        return to_[id].type.dims.size() == dims.size() ? id : build_.expand(id, dims);
    }

    // Dimensions with places and taps for those that the window looks along.
    std::vector<DimId> windowed_dims(std::vector<DimId> dims,
                                     const std::vector<DimId>& places) const {
        for (const DimId place : places) {
            const ir::WindowRule& rule = *from_[place].window;
            std::replace(dims.begin(), dims.end(), rule.of, place);
            dims.push_back(rule.taps);
        }
        return dims;
    }

    ExprId windowed_anew(ExprId id, const std::vector<DimId>& places) {
        const ir::Expr& expr = from_[id];
        if (is_in_memory(id)) return build_.window(copies_[index(id)], places);
        const auto dims = windowed_dims(expr.type.dims, places);
        return std::visit(
            overloaded{
                [&](const ir::Index&) { return coordinate(places.front()); },
                [&](const ir::Unary& n) { return build_.unary(n.op, windowed(n.x)); },
                [&](const ir::Binary& n) {
                    return build_.binary(n.op, all_dims(windowed(n.a), dims), windowed(n.b));
                },
                [&](const ir::Select& n) {
                    return build_.select(all_dims(windowed(n.condition), dims), windowed(n.a),
                                         windowed(n.b));
                },
                [&](const ir::Cast& n) { return build_.cast(expr.type.dtype, windowed(n.x)); },
                [&](const ir::Permute& n) { return windowed(n.x); },
                [&](const ir::Expand& n) { return build_.expand(windowed(n.x), dims); },
                [&](const ir::View& n) {
                    const auto own = windowed_dims(from_[n.x].type.dims, places);
                    return build_.view(build_.permute(windowed(n.x), own), dims);
                },
                [](const one_of<ir::Param, ir::Literal, ir::Extent, ir::Flip, ir::Window,
                                ir::Reduce, ir::Scan, ir::Product, ir::Attention,
                                ir::LogSumExp> auto&) -> ExprId {
                    throw InternalError("a window was moved over another node");
                },
            },
            expr.node);
    }

    const ir::Kernel& from_;
    const StayingWindows stay_;
    std::set<ExprId> operands_;  // windows of from_ that products read
    ir::Kernel to_;
    ir::Builder build_;
    std::vector<ExprId> copies_;  // by expression of from_, the one of to_
    std::vector<DimId> places_;   // of the window that is being moved
    std::set<ExprId> stored_;     // of from_, because values of windows are computed from them
    std::map<ExprId, ExprId> windowed_;  // by expression of from_
};

}  // namespace

ir::Kernel windows_at_leaves(const ir::Kernel& kernel, const StayingWindows& stay) {
    return std::ranges::any_of(kernel.exprs, is_window) ? WindowMover(kernel, stay).run() : kernel;
}

}  // namespace fact::lower
