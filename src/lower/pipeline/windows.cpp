#include "lower/pipeline/windows.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/dims.h"
#include "ir/reorderings.h"
#include "lower/product/scattered_output.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;
using ir::index;

bool is_window(const ir::Expr& expr) {
    return std::holds_alternative<ir::Window>(expr.node);
}

class WindowMover {
  public:
    WindowMover(const ir::Kernel& kernel, bool cuts_stay)
        : from_(kernel), cuts_stay_(cuts_stay), to_(kernel), build_(to_) {
        to_.exprs.clear();
    }

    ir::Kernel run() {
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            ir::Expr expr = from_.exprs[i];
            if (const auto* window = std::get_if<ir::Window>(&expr.node);
                window && !is_in_memory(window->x)) {
                if (is_pointwise(window->x)) {
                    copies_.push_back(moved(expr, *window));
                    continue;
                }
                if (!cuts_stay_ || !is_cut_off(from_, static_cast<ExprId>(i)))
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
        const ir::Expr& behind = from_[ir::behind_reorderings(from_, id)];
        return behind.stored || std::holds_alternative<ir::Param>(behind.node);
    }

    // Whether the value is computed element by element from tensors in memory.
    bool is_pointwise(ExprId root) const {
        std::set<ExprId> seen;
        std::vector<ExprId> open{root};
        while (!open.empty()) {
            const ExprId id = open.back();
            open.pop_back();
            if (!seen.insert(id).second || is_in_memory(id)) continue;
            const bool pointwise = std::visit(
                overloaded{
                    [](const one_of<ir::Literal, ir::Index, ir::Extent, ir::Unary, ir::Binary,
                                    ir::Select, ir::Cast, ir::Permute, ir::Expand> auto&) {
                        return true;
                    },
                    [](const one_of<ir::Param, ir::View, ir::Flip, ir::Window, ir::Reduce, ir::Scan,
                                    ir::Product, ir::Attention, ir::LogSumExp> auto&) {
                        return false;
                    },
                },
                from_[id].node);
            if (!pointwise) return false;
            ir::for_each_operand(from_[id].node, [&](ExprId x) { open.push_back(x); });
        }
        return true;
    }

    // A window of a pointwise value as that pointwise value of windows.
    ExprId moved(const ir::Expr& expr, const ir::Window& window) {
        places_ = window.places;
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

    ExprId windowed_anew(ExprId id, const std::vector<DimId>& places) {
        const ir::Expr& expr = from_[id];
        if (is_in_memory(id)) return build_.window(copies_[index(id)], places);
        auto dims = expr.type.dims;
        for (const DimId place : places) {
            const ir::WindowRule& rule = *from_[place].window;
            std::replace(dims.begin(), dims.end(), rule.of, place);
            dims.push_back(rule.taps);
        }
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
                [](const one_of<ir::Param, ir::Literal, ir::Extent, ir::View, ir::Flip, ir::Window,
                                ir::Reduce, ir::Scan, ir::Product, ir::Attention,
                                ir::LogSumExp> auto&) -> ExprId {
                    throw InternalError("a window was moved over another node");
                },
            },
            expr.node);
    }

    const ir::Kernel& from_;
    const bool cuts_stay_;
    ir::Kernel to_;
    ir::Builder build_;
    std::vector<ExprId> copies_;         // by expression of from_, the one of to_
    std::vector<DimId> places_;          // of the window that is being moved
    std::map<ExprId, ExprId> windowed_;  // by expression of from_
};

}  // namespace

ir::Kernel windows_at_leaves(const ir::Kernel& kernel, bool cuts_stay) {
    return std::ranges::any_of(kernel.exprs, is_window) ? WindowMover(kernel, cuts_stay).run()
                                                        : kernel;
}

}  // namespace fact::lower
