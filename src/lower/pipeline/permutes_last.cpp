#include "lower/pipeline/permutes_last.h"

#include "lower/pipeline/uses.h"
#include "support/result.h"

namespace fact::lower {

namespace {

using ir::ExprId;

class PermuteMover {
  public:
    explicit PermuteMover(const ir::Kernel& kernel) : from_(kernel), to_(kernel), build_(to_) {
        to_.exprs.clear();
    }

    ir::Kernel run() {
        for (std::size_t i = 0; i < from_.exprs.size(); ++i) {
            const ExprId id = rewrite(static_cast<ExprId>(i));
            copies_.push_back(id);
            const ir::Expr& expr = from_.exprs[i];
            ir::Expr& copy = to_.exprs[ir::index(id)];
            copy.stored = copy.stored || expr.stored;
            if (!copy.name.empty()) continue;
            copy.name = expr.name;
            copy.span = expr.span;
        }
        for (ir::Output& output : to_.outputs) output.value = in_order(output.value);
        ir::drop_dead(to_);
        return std::move(to_);
    }

  private:
    // The value in any order, and in its own.
    ExprId at(ExprId id) const { return copies_[ir::index(id)]; }
    ExprId in_order(ExprId id) { return build_.permute(at(id), from_[id].type.dims); }

    ExprId rewrite(ExprId id) {
        const ir::Expr& expr = from_[id];
        return std::visit(
            overloaded{
                [&](const ir::Permute& n) { return at(n.x); },
                [&](const ir::Unary& n) { return build_.unary(n.op, at(n.x)); },
                [&](const ir::Cast& n) { return build_.cast(expr.type.dtype, at(n.x)); },
                [&](const ir::Binary& n) { return build_.binary(n.op, at(n.a), at(n.b)); },
                [&](const ir::Reduce& n) { return build_.reduce(n.op, at(n.x), n.over); },
                [&](const ir::Scan& n) { return build_.scan(n.op, at(n.x), n.over, n.backwards); },
                [&](const ir::Window& n) { return build_.window(at(n.x), n.places, n.outside); },
                [&](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Select,
                                 ir::Expand, ir::View, ir::Flip, ir::Product, ir::Attention,
                                 ir::LogSumExp> auto&) { return copied(expr); },
            },
            expr.node);
    }

    ExprId copied(ir::Expr expr) {
        ir::for_each_operand(expr.node, [&](ExprId& x) { x = in_order(x); });
        return to_.add(std::move(expr));
    }

    const ir::Kernel& from_;
    ir::Kernel to_;
    ir::Builder build_;
    std::vector<ExprId> copies_;  // by expression of from_, the one of to_
};

}  // namespace

ir::Kernel permutes_last(const ir::Kernel& kernel) {
    return has_product(kernel) ? PermuteMover(kernel).run() : kernel;
}

}  // namespace fact::lower
