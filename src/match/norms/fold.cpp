#include "match/norms/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "graph/operators.h"
#include "ir/needed.h"
#include "match/norms/region.h"
#include "match/norms/write.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

bool is_16bit(DType dtype) {
    return dtype == DType::bf16 || dtype == DType::f16;
}

// Norm operators and means that `value` may depend on, the nearest first.
std::vector<NodeId> norms_before(const Graph& graph, ValueId value) {
    constexpr std::size_t kMaxVisited = 16;  // a norm spelled out has fewer operators
    std::set<NodeId> visited;
    std::vector<NodeId> norms;
    std::deque<ValueId> open{value};
    while (!open.empty() && visited.size() < kMaxVisited) {
        const auto producer = graph[open.front()].producer;
        open.pop_front();
        if (!producer || is_anchor(graph[*producer]) || !visited.insert(*producer).second) continue;
        if (is_norm_or_mean(graph, graph[*producer])) norms.push_back(*producer);
        for (const ValueId read : graph::tensor_inputs(graph[*producer])) open.push_back(read);
    }
    return norms;
}

std::optional<ValueId> value_called(const Graph& graph, const std::vector<NodeId>& nodes,
                                    const std::string& name) {
    for (const NodeId id : nodes)
        for (const ValueId value : graph::tensor_inputs(graph[id]))
            if (graph[value].name == name) return value;
    return std::nullopt;
}

// The parameters that an expression reads.
std::set<std::uint32_t> params_of(const ir::Kernel& kernel, ir::ExprId id) {
    std::set<std::uint32_t> found;
    const auto read = ir::needed_for(kernel, {id}, [](ir::ExprId) { return false; });
    for (std::size_t i = 0; i < read.size(); ++i)
        if (const auto* param = std::get_if<ir::Param>(&kernel.exprs[i].node); param && read[i])
            found.insert(param->index);
    return found;
}

// The norm around a node, if `result` is its only result.
std::optional<Fold> fold_of(const Graph& graph, const Facts& facts, NodeId norm, ValueId result) {
    const NormRegion region = grow_norm(graph, facts, {}, norm, false);
    if (region.outputs != std::vector{result}) return std::nullopt;
    auto written = write_norm(graph, facts, region, norm);
    if (!written) return std::nullopt;
    const auto form = read_norm_form(written->kernel);
    if (!form) return std::nullopt;
    Fold fold{region.nodes, norm, {}, std::move(written->kernel), *form, {}};
    std::map<std::string, int> count;
    const auto add_vectors = [&](const std::string& argument, ir::ExprId vector) {
        for (const std::uint32_t param : params_of(fold.kernel, vector)) {
            const auto value = value_called(graph, fold.nodes, written->params[param].value);
            const int number = ++count[argument];
            fold.vectors.try_emplace(
                param, Fold::Vector{number == 1 ? argument : fmt::format("{}{}", argument, number),
                                    *value});
        }
    };
    fold.x = *value_called(graph, fold.nodes, written->params[form->x].value);
    for (const ir::ExprId gain : form->gains) add_vectors("gain", gain);
    if (form->shift) add_vectors("shift", *form->shift);
    return fold;
}

}  // namespace

std::optional<Fold> read_fold(const Graph& graph, const Facts& facts, const Anchor& anchor) {
    const DType dtype = graph[anchor.a].type->dtype;
    if (anchor.node == kNoProduct || !is_16bit(dtype)) return std::nullopt;
    ValueId result = anchor.a;
    std::vector<NodeId> views;
    for (auto producer = graph[result].producer; producer && graph::is_reshape(graph[*producer]);
         producer = graph[result].producer) {
        views.push_back(*producer);
        result = graph::tensor_inputs(graph[*producer]).front();
        if (!only_used_in(facts, result, {*producer})) return std::nullopt;
    }
    const std::int64_t row_length = anchor.space.extent(anchor.k);
    if (graph[result].type->sizes.empty() || graph[result].type->sizes.back() != row_length ||
        anchor.space.a.back() != std::vector{anchor.k})
        return std::nullopt;
    for (const NodeId norm : norms_before(graph, result)) {
        auto fold = fold_of(graph, facts, norm, result);
        if (!fold || graph[fold->x].type->dtype != dtype) continue;
        const bool vectors_fit = std::ranges::all_of(fold->vectors, [&](const auto& entry) {
            const ValueId value = entry.second.value;
            const auto& type = *graph[value].type;
            return type.dtype == dtype && facts.constant[graph::index(value)] &&
                   !type.sizes.empty() && type.sizes.back() == row_length;
        });
        // A weight times a small gain may be subnormal in f16.
        if (!vectors_fit || (dtype == DType::f16 && !fold->form.gains.empty())) continue;
        fold->nodes.insert(fold->nodes.end(), views.begin(), views.end());
        return fold;
    }
    return std::nullopt;
}

bool fold_into(const Graph& graph, const Facts& facts, const Fold& fold, Region& region,
               const std::vector<NodeId>& other_readers) {
    const auto constant = [&](ValueId value) {
        return static_cast<bool>(facts.constant[graph::index(value)]);
    };
    std::set<NodeId> nodes(region.nodes.begin(), region.nodes.end()), readers = nodes;
    readers.insert(other_readers.begin(), other_readers.end());
    if (!only_used_in(facts, region.anchor.a, readers) || !constant(region.anchor.b)) return false;
    for (const SideUse& side : region.sides) {
        if (region.second == side.node && side.argument == "weight" && !constant(side.value))
            return false;
        // A side operand that the norm computes would no longer exist.
        const auto producer = graph[side.value].producer;
        if (producer && std::ranges::find(fold.nodes, *producer) != fold.nodes.end()) return false;
    }
    Space& space = region.anchor.space;
    auto rows = space.regrouped(space.a, graph[fold.x].type->sizes);
    if (!rows) return false;
    space.a = std::move(*rows);
    nodes.insert(fold.nodes.begin(), fold.nodes.end());
    region.a = before_permutes(graph, facts, nodes, {fold.x, space.a});
    for (const auto& [param, vector] : fold.vectors) {
        Shape along(graph[vector.value].type->sizes.size());
        along.back() = {region.anchor.k};
        region.sides.push_back({fold.norm, vector.argument, vector.value, std::move(along)});
    }
    region.nodes.assign(nodes.begin(), nodes.end());
    region.fold = fold;
    return true;
}

}  // namespace fact::match
