#include "lower/rows/register_values.h"

#include <algorithm>
#include <map>

#include "ir/dims.h"
#include "support/result.h"

namespace fact::lower {

namespace {

constexpr int kCheap = 4;  // values of fewer instructions are computed again

class RegisterChooser {
  public:
    RegisterChooser(const ir::Kernel& kernel, const RowsForm& form)
        : kernel_(kernel), form_(form) {}

    std::set<ir::ExprId> run() {
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node)) pass(reduce->x);
        for (const ir::Output& output : kernel_.outputs) pass(output.value);
        return chosen_;
    }

  private:
    // Whether the value varies along the row.
    bool varies(ir::ExprId id) const {
        const auto dims = kernel_.factors(kernel_[id].type.dims);
        return std::any_of(form_.over.begin(), form_.over.end(),
                           [&](ir::DimId dim) { return contains(dims, dim); });
    }

    // One pass over the row, which computes `root`: chooses what earlier passes computed too.
    void pass(ir::ExprId root) {
        std::set<ir::ExprId> in_pass;
        std::vector<ir::ExprId> open{root};
        while (!open.empty()) {
            const ir::ExprId id = open.back();
            open.pop_back();
            if (!varies(id) || chosen_.contains(id) || in_pass.contains(id)) continue;
            if (computed_.contains(id) && !is_cheap(id)) {
                chosen_.insert(id);
                continue;
            }
            in_pass.insert(id);
            push_operands(id, open);
        }
        computed_.insert(in_pass.begin(), in_pass.end());
    }

    // In reverse, so that the first operand is popped next.
    void push_operands(ir::ExprId id, std::vector<ir::ExprId>& open) const {
        const auto at = std::ssize(open);
        ir::for_each_operand(kernel_[id].node,
                             [&](ir::ExprId x) { open.insert(open.begin() + at, x); });
    }

    bool is_cheap(ir::ExprId id) const {
        std::vector<ir::ExprId> open{id};
        for (int total = 0; !open.empty();) {
            const ir::ExprId next = open.back();
            open.pop_back();
            if (!varies(next) || chosen_.contains(next)) continue;
            if ((total += cost(kernel_[next])) >= kCheap) return false;
            push_operands(next, open);
        }
        return true;
    }

    // Instructions per element, roughly, without those of the operands.
    static int cost(const ir::Expr& expr) {
        return std::visit(
            overloaded{
                [](const ir::Unary& n) {
                    return n.op == ir::UnaryOp::neg || n.op == ir::UnaryOp::logical_not ? 1 : 8;
                },
                [](const ir::Binary& n) {
                    return n.op == ir::BinaryOp::div || n.op == ir::BinaryOp::pow ? 4 : 1;
                },
                [&](const ir::Cast&) { return info(expr.type.dtype).bytes < 4 ? 2 : 0; },
                [](const one_of<ir::Permute, ir::Expand, ir::View, ir::Flip, ir::Window> auto&) {
                    return 0;
                },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Select,
                                ir::Reduce, ir::Scan, ir::Product, ir::Attention,
                                ir::LogSumExp> auto&) { return 1; },
            },
            expr.node);
    }

    const ir::Kernel& kernel_;
    const RowsForm& form_;
    std::set<ir::ExprId> chosen_, computed_;  // computed_: by any earlier pass
};

}  // namespace

std::set<ir::ExprId> values_in_registers(const ir::Kernel& kernel, const RowsForm& form) {
    return RegisterChooser(kernel, form).run();
}

}  // namespace fact::lower
