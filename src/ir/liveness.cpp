// Which expressions and dimensions a kernel needs: functions that ir/kernel.h declares.
#include <algorithm>

#include "ir/needed.h"

namespace fact::ir {

bool is_read(const Kernel& kernel, std::size_t param) {
    return std::any_of(kernel.exprs.begin(), kernel.exprs.end(), [&](const Expr& expr) {
        const auto* node = std::get_if<Param>(&expr.node);
        return node && node->index == param;
    });
}

std::vector<bool> reachable(const Kernel& kernel) {
    std::vector<ExprId> results;
    for (const auto& output : kernel.outputs) results.push_back(output.value);
    return needed_for(kernel, results, [](ExprId) { return false; });
}

std::vector<bool> used_dims(const Kernel& kernel) {
    std::vector<bool> used(kernel.dims.size());
    const auto mark = [&](const Type& type) {
        for (const DimId dim : type.dims) used[index(dim)] = true;
    };
    for (const Tensor& param : kernel.params) mark(param.type);
    for (const Output& output : kernel.outputs) mark(output.tensor.type);
    const auto live = reachable(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        if (!live[i]) continue;
        mark(kernel.exprs[i].type);
        for_each_dim(kernel.exprs[i].node, [&](DimId dim) { used[index(dim)] = true; });
    }
    for (const Multiple& rule : kernel.multiples) used[index(rule.dim)] = true;
    return used;
}

void drop_dead(Kernel& kernel) {
    const auto needed = reachable(kernel);
    std::vector<ExprId> moved(kernel.exprs.size());
    std::vector<Expr> kept;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        if (!needed[i]) continue;
        Expr expr = std::move(kernel.exprs[i]);
        for_each_operand(expr.node, [&](ExprId& operand) { operand = moved[index(operand)]; });
        moved[i] = static_cast<ExprId>(kept.size());
        kept.push_back(std::move(expr));
    }
    for (auto& output : kernel.outputs) output.value = moved[index(output.value)];
    kernel.exprs = std::move(kept);
}

}  // namespace fact::ir
