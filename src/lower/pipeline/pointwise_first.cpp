#include "lower/pipeline/pointwise_first.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "ir/dims.h"
#include "ir/opaque_dims.h"
#include "lower/product/scattered_output.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::DimId;
using ir::ExprId;

class PointwiseMover {
  public:
    explicit PointwiseMover(const ir::Kernel& kernel) : from_(kernel), to_(kernel), build_(to_) {
        to_.exprs.clear();
    }

    // nullopt if no view mixes rows and columns of a product.
    std::optional<ir::Kernel> run() {
        find_mixed();
        if (mixed_.empty()) return std::nullopt;
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            auto seen = rewrite(id);
            const ir::Expr& expr = from_.exprs[i];
            bool follows = std::holds_alternative<ir::Product>(expr.node);
            ir::for_each_operand(expr.node,
                                 [&](ExprId x) { follows = follows || follows_[ir::index(x)]; });
            follows_.push_back(follows);
            if (seen && !seen->steps.empty()) {
                copies_.push_back(reordered_by(from_, seen->steps, build_, seen->value));
                name_like(copies_.back(), expr);
            } else {
                ir::Expr copy = expr;
                ir::for_each_operand(copy.node, [&](ExprId& x) { x = at(x); });
                copies_.push_back(to_.add(std::move(copy)));
                if (seen) seen->value = copies_.back();
            }
            if (expr.stored) seen.reset();
            seen_.push_back(std::move(seen));
        }
        for (ir::Output& output : to_.outputs) output.value = at(output.value);
        ir::drop_dead(to_);
        return std::move(to_);
    }

  private:
    // A value computed from a product's result: `value`, over the product's dimensions, seen
    // through the reorderings `steps`.
    struct Seen {
        ExprId product{};           // in from_
        ExprId value{};             // in to_
        std::vector<ExprId> steps;  // in from_, the innermost first
    };

    ExprId at(ExprId id) const { return copies_[ir::index(id)]; }
    const std::optional<Seen>& seen(ExprId id) const { return seen_[ir::index(id)]; }
    const std::vector<DimId>& dims(ExprId id) const { return from_[id].type.dims; }

    void name_like(ExprId id, const ir::Expr& expr) {
        ir::Expr& copy = to_.exprs[ir::index(id)];
        copy.stored = expr.stored;
        if (!copy.name.empty()) return;
        copy.name = expr.name;
        copy.span = expr.span;
    }

    std::optional<Seen> rewrite(ExprId id) {
        using Found = std::optional<Seen>;
        return std::visit(
            overloaded{
                [&](const ir::Product&) -> Found {
                    return mixed_.contains(id) ? Found(Seen{id, {}, {}}) : std::nullopt;
                },
                [&](const one_of<ir::Permute, ir::View> auto& n) { return reordered(id, n.x); },
                [&](const one_of<ir::Window, ir::Reduce> auto& n) {
                    return is_cut_off(from_, id) ? reordered(id, n.x) : std::nullopt;
                },
                [&](const ir::Unary& n) {
                    return pointwise(id, {n.x},
                                     [&](const auto& x) { return build_.unary(n.op, x[0]); });
                },
                [&](const ir::Cast& n) {
                    return pointwise(id, {n.x}, [&](const auto& x) {
                        return build_.cast(from_[id].type.dtype, x[0]);
                    });
                },
                [&](const ir::Binary& n) {
                    return pointwise(id, {n.a, n.b}, [&](const auto& x) {
                        return build_.binary(n.op, x[0], x[1]);
                    });
                },
                [&](const ir::Select& n) {
                    return pointwise(id, {n.condition, n.a, n.b}, [&](const auto& x) {
                        return build_.select(x[0], x[1], x[2]);
                    });
                },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Expand, ir::Flip,
                                ir::Scan, ir::Attention, ir::LogSumExp> auto&) -> Found {
                    return std::nullopt;
                },
            },
            from_[id].node);
    }

    std::optional<Seen> reordered(ExprId id, ExprId x) {
        auto found = seen(x);
        if (!found) return std::nullopt;
        found->steps.push_back(id);
        return found;
    }

    // Finds the products whose rows and columns a view mixes.
    void find_mixed() {
        std::vector<std::optional<ExprId>> product(from_.exprs.size());  // that a value is of
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            const auto id = static_cast<ExprId>(i);
            if (std::holds_alternative<ir::Product>(from_[id].node)) {
                if (!ir::repeats_factors(from_, dims(id))) product[i] = id;
                continue;
            }
            ir::for_each_operand(from_[id].node, [&](ExprId x) {
                if (!product[i]) product[i] = product[ir::index(x)];
            });
            if (product[i] && std::holds_alternative<ir::View>(from_[id].node) &&
                mixes(dims(*product[i]), dims(id)))
                mixed_.insert(*product[i]);
        }
    }

    // Whether one of `to` has factors of both the last and the last but one of `product`.
    bool mixes(const std::vector<DimId>& product, const std::vector<DimId>& to) const {
        const auto rows = from_.factors({product[product.size() - 2]});
        const auto columns = from_.factors({product.back()});
        return std::ranges::any_of(to, [&](DimId dim) {
            const auto own = from_.factors({dim});
            const auto in = [&](const std::vector<DimId>& all) {
                return std::ranges::any_of(own, [&](DimId f) { return ir::contains(all, f); });
            };
            return in(rows) && in(columns);
        });
    }

    // The pointwise expression of values that are seen through the same reorderings, and of others
    // that can be repeated to match.
    template <class Compute>
    std::optional<Seen> pointwise(ExprId id, const std::vector<ExprId>& operands, Compute compute) {
        const Seen* first = nullptr;
        for (const ExprId x : operands) {
            const auto& found = seen(x);
            if (!found || dims(x) != dims(id)) continue;
            if (first && (found->product != first->product || found->steps != first->steps))
                return std::nullopt;
            first = &*found;
        }
        if (!first) return std::nullopt;
        Seen result = *first;
        if (result.steps.empty()) return result;  // as it stands
        std::vector<ExprId> values;
        for (const ExprId x : operands) {
            const auto& found = seen(x);
            const auto value = found && dims(x) == dims(id) ? std::optional(found->value)
                                                            : repeated(x, dims(result.product));
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
        result.value = compute(values);
        return result;
    }

    // The value over those of the product's dimensions that it has factors of, in their order.
    // nullopt if it is computed from a product itself, which comes first then.
    std::optional<ExprId> repeated(ExprId id, const std::vector<DimId>& product) {
        if (follows_[ir::index(id)]) return std::nullopt;
        std::vector<DimId> split, all, merged;
        for (const DimId dim : dims(id)) {
            const auto own = from_.factors({dim});
            split.insert(split.end(), own.begin(), own.end());
        }
        bool is_part = false;
        std::size_t used = 0;
        for (std::size_t d = 0; d < product.size(); ++d) {
            const auto factors = from_.factors({product[d]});
            const auto held = static_cast<std::size_t>(std::ranges::count_if(
                factors, [&](DimId factor) { return ir::contains(split, factor); }));
            if (held == 0) continue;
            if (held < factors.size() && d + 2 != product.size()) return std::nullopt;
            is_part = is_part || held < factors.size();
            used += held;
            merged.push_back(product[d]);
            all.insert(all.end(), factors.begin(), factors.end());
        }
        if (used != split.size()) return std::nullopt;
        // A copy of what varies along columns, too, would be as large as the result.
        if (is_part && ir::contains(merged, product.back())) return std::nullopt;
        if (!is_part)
            return merged.size() == dims(id).size() && ir::contains(merged, dims(id))
                       ? std::optional(build_.permute(at(id), merged))
                       : std::nullopt;
        const ExprId value = build_.view(build_.expand(build_.view(at(id), split), all), merged);
        to_.exprs[ir::index(value)].stored = true;
        return value;
    }

    const ir::Kernel& from_;
    ir::Kernel to_;
    ir::Builder build_;
    std::vector<ExprId> copies_;             // by expression of from_, the one of to_
    std::vector<std::optional<Seen>> seen_;  // by expression of from_
    std::vector<bool> follows_;  // by expression of from_: whether it is computed from a product
    std::set<ExprId> mixed_;     // products in from_ whose rows and columns a view mixes
};

}  // namespace

ir::Kernel pointwise_first(const ir::Kernel& kernel) {
    auto moved = PointwiseMover(kernel).run();
    return moved ? std::move(*moved) : kernel;
}

}  // namespace fact::lower
