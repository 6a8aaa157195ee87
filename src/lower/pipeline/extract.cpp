#include "lower/pipeline/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/extents.h"
#include "ir/needed.h"
#include "ir/opaque_dims.h"
#include "ir/reorderings.h"

namespace fact::lower {

namespace {

using ir::ExprId;
using ir::index;

// A name that no tensor has yet: an intermediate may have the name of a parameter.
std::string unique_name(const ir::Kernel& kernel, const std::string& wanted) {
    const auto taken = [&](const std::string& name) {
        for (const ir::Tensor& param : kernel.params)
            if (param.name == name) return true;
        for (const ir::Output& output : kernel.outputs)
            if (output.tensor.name == name) return true;
        return false;
    };
    std::string name = wanted.empty() ? "t" : wanted;
    for (int i = 1; taken(name); ++i) name = fmt::format("{}{}", wanted.empty() ? "t" : wanted, i);
    return name;
}

// Adds witnesses if the part needs them: all parameters of the whole kernel, less those without
// which the part still has every extent.
void add_witnesses(const ir::Kernel& whole, Extracted& part) {
    if (supplies_extents(part.kernel)) return;
    const std::vector<ir::Tensor> own_params = part.kernel.params;
    std::vector<std::uint32_t> all(whole.params.size());
    std::iota(all.begin(), all.end(), 0);
    const auto set_witnesses = [&](const std::vector<std::uint32_t>& witnesses) {
        part.kernel.params = own_params;
        part.witnesses = witnesses;
        for (const std::uint32_t i : witnesses)
            part.kernel.params.push_back({unique_name(part.kernel, whole.params[i].name),
                                          whole.params[i].type, whole.params[i].span});
        return supplies_extents(part.kernel);
    };
    for (std::size_t i = all.size(); i-- > 0;) {
        auto fewer = all;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (set_witnesses(fewer)) all = std::move(fewer);
    }
    set_witnesses(all);
}

}  // namespace

bool supplies_extents(const ir::Kernel& kernel) {
    std::vector<bool> declared(kernel.dims.size());
    for (const ir::Tensor& param : kernel.params)
        for (const ir::DimId dim : param.type.dims) declared[ir::index(dim)] = true;
    const auto known = ir::known_dims(kernel, std::move(declared));
    return std::all_of(kernel.exprs.begin(), kernel.exprs.end(), [&](const ir::Expr& expr) {
        const auto is_known = [&](ir::DimId dim) { return bool{known[index(dim)]}; };
        bool all_known = true;
        ir::for_each_dim(expr.node, [&](ir::DimId dim) { all_known = all_known && is_known(dim); });
        return all_known && std::all_of(expr.type.dims.begin(), expr.type.dims.end(), is_known);
    });
}

Extracted extract(const ir::Kernel& whole, const std::vector<ExprId>& roots,
                  const std::set<ExprId>& stored) {
    // The tensor that a leaf reads. A renamed leaf reads the original.
    const auto source_of = [&](ExprId id) -> std::optional<ExprId> {
        for (;; id = std::get<ir::View>(whole[id].node).x) {
            if (stored.contains(id) || std::holds_alternative<ir::Param>(whole[id].node)) return id;
            if (!ir::is_renaming(whole, id)) return std::nullopt;
        }
    };
    const auto is_leaf = [&](ExprId id) { return source_of(id).has_value(); };
    const auto needed = ir::needed_for(whole, roots, is_leaf);

    Extracted part;
    part.kernel.name = whole.name;
    part.kernel.dims = whole.dims;
    part.kernel.source = whole.source;
    std::map<ExprId, ExprId> moved;  // from expressions of the whole to those of the part
    // For each parameter of the whole, the first expression that reads it: all reads count as one.
    std::map<std::uint32_t, ExprId> first_reads;
    // One parameter for each tensor and each list of names that its dimensions are read under.
    std::map<std::pair<ExprId, std::vector<ir::DimId>>, std::uint32_t> param_numbers;
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const auto id = static_cast<ExprId>(i);
        if (!needed[i]) continue;
        ir::Expr expr = whole.exprs[i];
        expr.stored = false;
        if (auto source = source_of(id)) {
            const auto* param = std::get_if<ir::Param>(&whole[*source].node);
            if (param) source = first_reads.try_emplace(param->index, *source).first->second;
            const auto [at, added] =
                param_numbers.try_emplace({*source, expr.type.dims}, part.kernel.params.size());
            if (added) {
                const std::string name =
                    param ? whole.params[param->index].name : whole[*source].name;
                part.kernel.params.push_back(
                    {unique_name(part.kernel, name), expr.type,
                     param ? whole.params[param->index].span : whole[*source].span});
                part.leaves.push_back(*source);
            }
            expr.node = ir::Param{at->second};
            expr.name = part.kernel.params[at->second].name;
        } else {
            ir::for_each_operand(expr.node, [&](ExprId& x) { x = moved.at(x); });
        }
        moved[id] = part.kernel.add(std::move(expr));
    }
    add_witnesses(whole, part);
    for (const ExprId root : roots) {
        const ir::Expr& expr = whole[root];
        const std::string name = unique_name(part.kernel, expr.name.empty() ? "y" : expr.name);
        part.kernel.outputs.push_back({{name, expr.type, expr.span}, moved.at(root)});
    }
    ir::make_opaque(part.kernel);
    return part;
}

}  // namespace fact::lower
