#include "lower/rows/kept.h"

#include <algorithm>
#include <map>

#include "ir/dims.h"

namespace fact::lower {

namespace {

constexpr int kCheap = 4;  // instructions that are rather repeated

class Keeper {
  public:
    Keeper(const ir::Kernel& kernel, const RowsForm& form) : kernel_(kernel), form_(form) {}

    std::set<ir::ExprId> run() {
        for (const ir::ExprId id : form_.order)
            if (const auto* reduce = std::get_if<ir::Reduce>(&kernel_[id].node)) pass(reduce->x);
        for (const ir::Output& output : kernel_.outputs) pass(output.value);
        return kept_;
    }

  private:
    bool varies(ir::ExprId id) const {
        const auto dims = kernel_.factors(kernel_[id].type.dims);
        return std::any_of(form_.over.begin(), form_.over.end(),
                           [&](ir::DimId dim) { return contains(dims, dim); });
    }

    void pass(ir::ExprId root) {
        std::set<ir::ExprId> seen;
        visit(root, seen);
        computed_.insert(seen.begin(), seen.end());
    }

    void visit(ir::ExprId id, std::set<ir::ExprId>& seen) {
        if (!varies(id) || kept_.contains(id) || seen.contains(id)) return;
        if (computed_.contains(id) && cost(id) >= kCheap) {
            kept_.insert(id);
            return;
        }
        seen.insert(id);
        ir::for_each_operand(kernel_[id].node, [&](ir::ExprId x) { visit(x, seen); });
    }

    // Instructions an element, roughly.
    int cost(ir::ExprId id) const {
        if (!varies(id) || kept_.contains(id)) return 0;
        const ir::Node& node = kernel_[id].node;
        int all = 1;
        if (const auto* unary = std::get_if<ir::Unary>(&node))
            all = unary->op == ir::UnaryOp::neg || unary->op == ir::UnaryOp::logical_not ? 1 : 8;
        else if (const auto* binary = std::get_if<ir::Binary>(&node))
            all = binary->op == ir::BinaryOp::div || binary->op == ir::BinaryOp::pow ? 4 : 1;
        else if (std::holds_alternative<ir::Cast>(node))
            all = info(kernel_[id].type.dtype).bytes < 4 ? 2 : 0;
        else if (std::holds_alternative<ir::Permute>(node) ||
                 std::holds_alternative<ir::Expand>(node) ||
                 std::holds_alternative<ir::View>(node) || std::holds_alternative<ir::Flip>(node))
            all = 0;
        ir::for_each_operand(node, [&](ir::ExprId x) { all += cost(x); });
        return all;
    }

    const ir::Kernel& kernel_;
    const RowsForm& form_;
    std::set<ir::ExprId> kept_, computed_;
};

}  // namespace

std::set<ir::ExprId> kept_values(const ir::Kernel& kernel, const RowsForm& form) {
    return Keeper(kernel, form).run();
}

}  // namespace fact::lower
