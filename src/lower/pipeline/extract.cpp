#include "lower/pipeline/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/extents.h"

namespace fact::lower {

namespace {

using ir::ExprId;
using ir::index;

// Names of tensors must differ, and an intermediate may be called like a parameter.
std::string unique(const ir::Kernel& kernel, const std::string& wanted) {
    const auto taken = [&](const std::string& name) {
        for (const ir::Tensor& param : kernel.params)
            if (param.name == name) return true;
        return false;
    };
    std::string name = wanted.empty() ? "t" : wanted;
    for (int i = 1; taken(name); ++i) name = fmt::format("{}{}", wanted.empty() ? "t" : wanted, i);
    return name;
}

// Parameters of the whole that a part reads nothing of but an extent: a mean divides by that of a
// dimension it has summed away.
std::set<ExprId> tellers(const ir::Kernel& whole, const std::vector<bool>& needed,
                         const std::set<ExprId>& leaves) {
    std::vector<bool> given(whole.dims.size());
    const auto read = [&](ExprId id) {
        for (const ir::DimId dim : whole[id].type.dims) given[index(dim)] = true;
    };
    for (const ExprId id : leaves) read(id);
    std::set<ExprId> added;
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const auto* extent = needed[i] ? std::get_if<ir::Extent>(&whole.exprs[i].node) : nullptr;
        for (std::size_t j = 0; extent && j < whole.exprs.size(); ++j) {
            if (ir::known_dims(whole, given)[index(extent->dim)]) break;
            if (!std::holds_alternative<ir::Param>(whole.exprs[j].node)) continue;
            const auto wanted = whole.factors({extent->dim});
            const auto has = whole.factors(whole.exprs[j].type.dims);
            if (std::ranges::find_first_of(has, wanted) == has.end()) continue;
            added.insert(static_cast<ExprId>(j));
            read(static_cast<ExprId>(j));
        }
    }
    return added;
}

}  // namespace

Extracted extract(const ir::Kernel& whole, ExprId root, const std::set<ExprId>& kept) {
    const auto is_leaf = [&](ExprId id) {
        return kept.contains(id) || std::holds_alternative<ir::Param>(whole[id].node);
    };
    std::vector<bool> needed(index(root) + 1);
    needed[index(root)] = true;
    for (std::size_t i = index(root) + 1; i-- > 0;)
        if (needed[i] && !is_leaf(static_cast<ExprId>(i)))
            ir::for_each_operand(whole.exprs[i].node, [&](ExprId x) { needed[index(x)] = true; });

    std::set<ExprId> leaves;
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i] && is_leaf(static_cast<ExprId>(i))) leaves.insert(static_cast<ExprId>(i));
    const auto more = tellers(whole, needed, leaves);
    needed.resize(whole.exprs.size());
    for (const ExprId id : more) needed[index(id)] = true;

    Extracted part;
    part.kernel.name = whole.name;
    part.kernel.dims = whole.dims;
    part.kernel.source = whole.source;
    std::map<ExprId, ExprId> moved;
    // A parameter is one expression, however often the whole names it.
    std::map<std::uint32_t, std::uint32_t> params;
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const auto id = static_cast<ExprId>(i);
        if (!needed[i]) continue;
        ir::Expr expr = whole.exprs[i];
        expr.stored = false;
        if (is_leaf(id)) {
            const auto* param = std::get_if<ir::Param>(&whole[id].node);
            const bool known = param && params.contains(param->index);
            std::uint32_t number = static_cast<std::uint32_t>(part.kernel.params.size());
            if (known) {
                number = params[param->index];
            } else {
                const std::string name = param ? whole.params[param->index].name : whole[id].name;
                part.kernel.params.push_back({unique(part.kernel, name), expr.type,
                                              param ? whole.params[param->index].span : expr.span});
                part.leaves.push_back(id);
                if (param) params[param->index] = number;
            }
            expr.node = ir::Param{number};
            expr.name = part.kernel.params[number].name;
        } else {
            ir::for_each_operand(expr.node, [&](ExprId& x) { x = moved.at(x); });
        }
        moved[id] = part.kernel.add(std::move(expr));
    }
    const ir::Type& type = whole[root].type;
    const std::string name = unique(part.kernel, whole[root].name.empty() ? "y" : whole[root].name);
    part.kernel.outputs.push_back({{name, type, whole[root].span}, moved.at(root)});
    return part;
}

}  // namespace fact::lower
