#include "match/regions/region.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/operators.h"
#include "graph/windows.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"
#include "match/regions/producers.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

using NodeSet = std::set<NodeId>;

// The nodes of growth.reach that `last` needs, and the anchor with the nodes that cut it.
NodeSet needed(const Graph& graph, const Growth& growth, NodeId last) {
    NodeSet within(growth.reach.begin(), growth.reach.end()), found;
    if (growth.anchor.node != kNoProduct) found.insert(growth.anchor.node);
    if (const auto& cut = growth.anchor.cut) found.insert(cut->nodes.begin(), cut->nodes.end());
    std::vector<NodeId> open{last};
    while (!open.empty()) {
        const NodeId id = open.back();
        open.pop_back();
        if (!found.insert(id).second) continue;
        for (const ValueId value : graph::tensor_inputs(graph[id]))
            if (const auto producer = graph[value].producer; producer && within.contains(*producer))
                open.push_back(*producer);
    }
    return found;
}

// Drops operators on halves that nothing within reach joins again.
void drop_unjoined_halves(const Graph& graph, const Space& space, Growth& growth) {
    NodeSet used;
    for (const NodeId id : growth.reach)
        if (!space.halved(graph[id].outputs.front())) used.merge(needed(graph, growth, id));
    for (const NodeId id : growth.reach)
        if (!used.contains(id))
            growth.stops[id] = "it uses half of the product, and the halves are not joined again";
    std::erase_if(growth.reach, [&](NodeId id) { return !used.contains(id); });
}

// Lists the result of `last`, then the statistics of norms that other nodes read, and what updates
// buffers; with `several`, all values that others read. Returns why such a value cannot be a
// result, or "".
std::string find_outputs(const Graph& graph, const Facts& facts, const NodeSet& nodes, NodeId last,
                         bool several, std::vector<ValueId>& outputs) {
    outputs = {graph[last].outputs.front()};
    for (const NodeId id : nodes)
        for (const ValueId value : graph[id].outputs) {
            if (value == outputs.front()) continue;
            const bool escapes = facts.escapes[graph::index(value)];
            const auto outside = used_outside(facts, value, nodes);
            if (!escapes && outside.empty()) continue;
            const bool is_first = value == graph[id].outputs.front();
            const bool may_escape = several || !is_first || facts.updates.contains(id);
            if (may_escape && !feeds_back(graph, facts, nodes, outside)) {
                outputs.push_back(value);
                continue;
            }
            if (escapes) return fmt::format("{} is also a result of the module", graph[value].name);
            return fmt::format("{} is also used by {}", graph[value].name,
                               graph[outside.front()].name);
        }
    return "";
}

// Whether a kernel can write the node's result.
bool can_store(const Graph& graph, NodeId id) {
    const DType dtype = graph[graph[id].outputs.front()].type->dtype;
    return dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f32 ||
           finds_places(graph[id]);
}

// Everything within reach but what reads, or is, a value that others read and no kernel can write.
NodeSet all_within_reach(const Graph& graph, const Facts& facts, const Growth& growth) {
    NodeSet nodes(growth.reach.begin(), growth.reach.end());
    for (bool changed = true; changed;) {
        changed = false;
        for (const NodeId id : NodeSet(nodes)) {
            const ValueId value = graph[id].outputs.front();
            if (can_store(graph, id) || only_used_in(facts, value, nodes)) continue;
            nodes.erase(id);
            changed = true;
        }
    }
    return nodes;
}

// Adds updates of buffers within reach that read what `nodes` compute, and nothing that others
// within reach do.
void take_updates(const Graph& graph, const Facts& facts, const Growth& growth, NodeSet& nodes) {
    for (const NodeId id : growth.reach) {
        if (!facts.updates.contains(id)) continue;
        bool reads_region = false, reads_others = false;
        for (const ValueId value : graph::tensor_inputs(graph[id]))
            if (const auto producer = graph[value].producer) {
                reads_region |= nodes.contains(*producer);
                reads_others |= !nodes.contains(*producer) &&
                                std::ranges::binary_search(growth.reach, *producer);
            }
        if (reads_region && !reads_others) nodes.insert(id);
    }
}

// The last operator of a region, and all of them.
using EndAndNodes = std::pair<NodeId, NodeSet>;

// What regions of the growth consist of: what each operator within reach needs; without a product
// also everything within reach, which ends in its largest result.
std::vector<EndAndNodes> node_sets(const Graph& graph, const Facts& facts, const Growth& growth,
                                   Extras extras) {
    const NodeId anchor = growth.anchor.space.convolution.value_or(growth.anchor.node);
    const bool only_updates = facts.updates.contains(anchor);
    const bool takes_updates = extras == Extras::all && !only_updates;
    std::vector<NodeId> ends;
    for (const NodeId id : growth.reach)
        if (only_updates || !facts.updates.contains(id)) ends.push_back(id);
    const bool has_product = growth.anchor.node != kNoProduct;
    // The whole result of a linear cut in two does not exist, except after aten.glu.
    const auto& cut = growth.anchor.cut;
    if (has_product && !cut) ends.insert(ends.begin(), growth.anchor.node);
    if (cut && !cut->second) ends.insert(ends.begin(), cut->nodes.front());
    std::vector<EndAndNodes> sets;
    for (const NodeId last : ends) {
        NodeSet& nodes = sets.emplace_back(last, needed(graph, growth, last)).second;
        if (takes_updates) take_updates(graph, facts, growth, nodes);
    }
    if (has_product) return sets;
    NodeSet all = all_within_reach(graph, facts, growth);
    if (extras != Extras::all && !only_updates)
        std::erase_if(all, [&](NodeId id) { return facts.updates.contains(id); });
    std::optional<NodeId> last;
    const auto size = [&](NodeId id) { return count(*graph[graph[id].outputs.front()].type); };
    for (const NodeId id : all)
        if (!only_used_in(facts, graph[id].outputs.front(), all) &&
            (!last || size(id) >= size(*last)))
            last = id;
    if (last && (!std::ranges::count(ends, *last) || all != needed(graph, growth, *last)))
        sets.emplace_back(*last, std::move(all));
    return sets;
}

// Why no region with the node `id` is convex, or "": one of the node's operands is computed outside
// the region from a result of a node of `inside`. Nodes before `first`, the first one, cannot
// depend on the region. In a deep network every later residual is such a node, and growing through
// them all would take time quadratic in the network's depth.
std::string cycle_reason(const Graph& graph, const NodeSet& inside, NodeId first, NodeId id) {
    NodeSet visited;
    std::vector<NodeId> open{id};
    while (!open.empty()) {
        const NodeId at = open.back();
        open.pop_back();
        for (const ValueId value : graph::tensor_inputs(graph[at])) {
            const auto producer = graph[value].producer;
            if (!producer || *producer < first) continue;
            if (!inside.contains(*producer)) {
                if (visited.insert(*producer).second) open.push_back(*producer);
            } else if (at != id) {
                return fmt::format("{} is also used by {}", graph[value].name, graph[at].name);
            }
        }
    }
    return "";
}

}  // namespace

bool has_rowwise(const Graph& graph, const Region& region) {
    return std::ranges::any_of(region.nodes, [&](NodeId id) {
        return find_rowwise(graph[id]) || graph::pools(graph[id]);
    });
}

PlacedTensor before_permutes(const Graph& graph, const Facts& facts, std::set<NodeId>& nodes,
                             PlacedTensor tensor) {
    while (const auto producer = graph[tensor.value].producer) {
        const Node& node = graph[*producer];
        if (node.target != "aten.permute.default") break;
        if (!only_used_in(facts, tensor.value, nodes)) break;
        const auto& dims = std::get<std::vector<std::int64_t>>(*graph::find_argument(node, "dims"));
        Shape shape(tensor.shape.size());
        for (std::size_t i = 0; i < shape.size(); ++i)
            shape[static_cast<std::size_t>(dims[i])] = tensor.shape[i];
        nodes.insert(*producer);
        auto half = tensor.half;
        if (half) half->dim = static_cast<int>(dims[static_cast<std::size_t>(half->dim)]);
        tensor = {std::get<ValueId>(node.inputs.front().value), std::move(shape), half};
    }
    return tensor;
}

Growth grow(const Graph& graph, Facts& facts, Anchor anchor, const NodeSet& taken,
            std::size_t most) {
    Growth growth{std::move(anchor), {}, {}};
    Space space = growth.anchor.space;
    NodeSet inside{growth.anchor.node};
    const auto& first_users = facts.users[graph::index(growth.anchor.result)];
    const NodeId first = growth.anchor.node != kNoProduct ? growth.anchor.node
                         : first_users.empty()            ? NodeId{}
                                                          : std::ranges::min(first_users);
    NodeSet open;  // in execution order, so operands come first
    const auto open_users = [&](ValueId value) {
        const auto& users = facts.users[graph::index(value)];
        open.insert(users.begin(), users.end());
    };
    open_users(growth.anchor.result);
    if (const auto& cut = growth.anchor.cut) {
        inside.insert(cut->nodes.begin(), cut->nodes.end());
        if (cut->second) open_users(*cut->second);
    }
    while (!open.empty()) {
        const NodeId id = *open.begin();
        open.erase(open.begin());
        const bool is_start = growth.anchor.space.convolution == id;
        if ((is_anchor(graph[id]) && !is_start) ||
            graph::facts_of(graph[id]).kind == graph::OperatorKind::attention || taken.contains(id))
            continue;
        if (growth.reach.size() == most) {
            growth.stops[id] =
                fmt::format("the pattern has {} operators already, the most it may have", most);
            continue;
        }
        if (std::string reason = cycle_reason(graph, inside, first, id); !reason.empty()) {
            growth.stops[id] = std::move(reason);
            continue;
        }
        Space grown = space;
        if (std::string reason = grown.absorb(graph, id); !reason.empty()) {
            growth.stops[id] = std::move(reason);
            continue;
        }
        space = std::move(grown);
        growth.reach.push_back(id);
        inside.insert(id);
        for (const ValueId value : graph[id].outputs)
            if (space.contains(value)) open_users(value);
    }
    drop_unjoined_halves(graph, space, growth);
    facts.after_product.insert(growth.reach.begin(), growth.reach.end());
    return growth;
}

std::vector<Region> regions(const Graph& graph, const Facts& facts, Growth& growth, Extras extras) {
    const bool has_product = growth.anchor.node != kNoProduct;
    const auto& cut = growth.anchor.cut;
    std::vector<Region> found;
    for (auto& [last, nodes] : node_sets(graph, facts, growth, extras)) {
        if (!can_store(graph, last)) {
            growth.stops[last] =
                fmt::format("a kernel cannot have a result of type {}",
                            info(graph[graph[last].outputs.front()].type->dtype).name);
            continue;
        }
        Region region{growth.anchor, {}, {}, {}, {}, {}};
        std::string reason = find_outputs(graph, facts, nodes, last, !has_product, region.outputs);
        if (!reason.empty()) {
            growth.stops[last] = std::move(reason);
            continue;
        }
        Space& space = region.anchor.space;
        for (const NodeId id : nodes)
            if (!space.contains(graph[id].outputs.front()) && id != growth.anchor.node &&
                reason.empty())
                reason = space.absorb(graph, id);
        if (cut && region.outputs.size() > 1)
            reason = "one of its halves is also used outside the kernel";
        for (const ValueId value : region.outputs)
            if (reason.empty() && (!space.contains(value) || space.halved(value)))
                reason = fmt::format("{} is also used elsewhere, and the kernel cannot write it",
                                     graph[value].name);
        if (!reason.empty()) {
            growth.stops[last] = std::move(reason);
            continue;
        }
        if (extras != Extras::none) take_producers(graph, facts, region, nodes);
        if (has_product) {
            region.a = before_permutes(graph, facts, nodes, {region.anchor.a, space.a});
            region.b = before_permutes(graph, facts, nodes,
                                       {region.anchor.b, space.b, region.anchor.half});
        } else {
            region.a = region.b = {region.anchor.a, space.shape(region.anchor.a)};
        }
        for (const auto& side : space.sides()) {
            PlacedTensor source =
                before_permutes(graph, facts, nodes, {side.value, side.shape, side.half});
            region.sides.push_back(
                {side.node, side.argument, source.value, std::move(source.shape), source.half});
        }
        region.nodes.assign(nodes.begin(), nodes.end());
        found.push_back(std::move(region));
    }
    return found;
}

std::vector<Region> regions_with_and_without_updates(const Graph& graph, const Facts& facts,
                                                     Growth& growth) {
    auto found = regions(graph, facts, growth, Extras::all);
    for (Region& plain : regions(graph, facts, growth, Extras::producers)) {
        const bool known = std::ranges::any_of(found, [&](const Region& region) {
            return region.nodes == plain.nodes && region.outputs == plain.outputs;
        });
        if (!known) found.push_back(std::move(plain));
    }
    return found;
}

}  // namespace fact::match
