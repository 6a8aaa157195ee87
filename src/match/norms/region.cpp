#include "match/norms/region.h"

#include <algorithm>
#include <iterator>

#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

using NodeSet = std::set<NodeId>;

class Grower {
  public:
    Grower(const Graph& graph, const Facts& facts, const NodeSet& taken, NodeId node)
        : graph_(graph), facts_(facts), taken_(taken), norm_(node) {
        sizes_ = graph[std::get<ValueId>(graph[node].inputs.front().value)].type->sizes;
    }

    NormRegion run(bool residual) {
        find_after();
        NodeSet best;
        for (const NodeId last : after_) {
            if (result_sizes(last) != sizes_) continue;
            NodeSet nodes = up_to(last);
            if (nodes.size() > best.size() && outputs(nodes).size() == 1 && !makes_cycle(nodes))
                best = std::move(nodes);
        }
        if (best.empty()) return {};
        if (residual) take_residual(best);
        return {{best.begin(), best.end()}, outputs(best), sizes_};
    }

  private:
    // Whether the value has whole rows, or one element per row.
    bool has_rows(ValueId value) const {
        const auto& type = graph_[value].type;
        if (!type || type->dynamic || type->sizes.size() != sizes_.size()) return false;
        return std::equal(sizes_.begin(), sizes_.end() - 1, type->sizes.begin()) &&
               (type->sizes.back() == sizes_.back() || type->sizes.back() == 1);
    }

    // Whether the kernel can compute the node, one row at a time.
    bool computable(NodeId id) const {
        const Node& node = graph_[id];
        if (taken_.contains(id) || node.outputs.empty() || !has_rows(node.outputs.front()))
            return false;
        if (is_over_rows(graph_, node))
            return has_rows(std::get<ValueId>(node.inputs.front().value));
        return unsupported_pointwise(graph_, node).empty();
    }

    // Whether the node computes a vector that all rows share, such as 1 + w.
    bool computes_vector(NodeId id) const {
        const Node& node = graph_[id];
        if (taken_.contains(id) || node.outputs.size() != 1) return false;
        const auto& type = graph_[node.outputs.front()].type;
        return type && !type->dynamic && type->sizes == std::vector{sizes_.back()} &&
               unsupported_pointwise(graph_, node).empty();
    }

    // The results of these nodes that others read.
    std::vector<ValueId> outputs(const NodeSet& nodes) const {
        std::vector<ValueId> read;
        for (const NodeId id : nodes)
            for (const ValueId value : graph_[id].outputs)
                if (!only_used_in(facts_, value, nodes)) read.push_back(value);
        return read;
    }

    // Whether these nodes read a value that other nodes compute from results of these nodes.
    bool makes_cycle(const NodeSet& nodes) const {
        std::vector<NodeId> outside;
        for (const NodeId id : nodes)
            for (const ValueId value : graph_[id].outputs)
                std::ranges::copy(used_outside(facts_, value, nodes), std::back_inserter(outside));
        return feeds_back(graph_, facts_, nodes, std::move(outside));
    }

    const std::vector<std::int64_t>& result_sizes(NodeId id) const {
        return graph_[graph_[id].outputs.front()].type->sizes;
    }

    // Finds the norm and everything after it that the kernel can compute.
    void find_after() {
        constexpr std::size_t kMaxAfter = 64;  // limits the time for long chains
        NodeSet open{norm_};
        while (!open.empty() && after_.size() < kMaxAfter) {
            const NodeId id = *open.begin();
            open.erase(open.begin());
            if (!computable(id)) continue;
            after_.insert(id);
            const auto& users = facts_.users[graph::index(graph_[id].outputs.front())];
            open.insert(users.begin(), users.end());
        }
    }

    // The nodes of after_ that `last` needs, and operators before them that nothing else uses.
    NodeSet up_to(NodeId last) const {
        constexpr std::size_t kMaxNodes = 128;  // limits the time for long chains
        NodeSet nodes{last};
        for (bool changed = true; changed;) {
            changed = false;
            for (const NodeId id : NodeSet(nodes))
                for (const ValueId value : graph::tensor_inputs(graph_[id])) {
                    const auto producer = graph_[value].producer;
                    if (!producer || nodes.contains(*producer)) continue;
                    const bool possible = computable(*producer) || computes_vector(*producer);
                    if (!after_.contains(*producer) && (!possible || nodes.size() >= kMaxNodes ||
                                                        !only_used_in(facts_, value, nodes)))
                        continue;
                    nodes.insert(*producer);
                    changed = true;
                }
        }
        return nodes.contains(norm_) ? nodes : NodeSet{};
    }

    bool is_sum_of_rows(const Node& node) const {
        const auto reads = graph::tensor_inputs(node);
        return node.target == "aten.add.Tensor" && reads.size() == 2 &&
               std::ranges::all_of(
                   reads, [&](ValueId value) { return graph_[value].type->sizes == sizes_; });
    }

    // Adds the residual sum that is normalised; others may read it too.
    void take_residual(NodeSet& nodes) const {
        for (const NodeId id : nodes)
            for (const ValueId value : graph::tensor_inputs(graph_[id])) {
                const auto producer = graph_[value].producer;
                if (!producer || nodes.contains(*producer) || !computable(*producer) ||
                    !is_sum_of_rows(graph_[*producer]))
                    continue;
                NodeSet more = nodes;
                more.insert(*producer);
                if (makes_cycle(more)) continue;
                nodes = std::move(more);
                return;
            }
    }

    const Graph& graph_;
    const Facts& facts_;
    const NodeSet& taken_;
    NodeId norm_;
    NodeSet after_;                    // see find_after()
    std::vector<std::int64_t> sizes_;  // of the tensor that is normalised
};

}  // namespace

bool is_over_rows(const Graph& graph, const Node& node) {
    const RowwiseOp* op = find_rowwise(node);
    if (!op || has_channel_params(node) || !unsupported_rowwise(graph, node).empty()) return false;
    const auto& sizes = graph[std::get<ValueId>(node.inputs.front().value)].type->sizes;
    const auto groups = dim_groups(graph, node);
    return groups && groups->size() == 1 && !groups->front().part &&
           groups->front().dims == std::vector{sizes.size() - 1} && node.outputs.size() == 1 &&
           graph[node.outputs.front()].type->sizes.size() == sizes.size();
}

bool is_norm_or_mean(const Graph& graph, const Node& node) {
    const RowwiseOp* op = find_rowwise(node);
    return op && (op->kind == RowwiseKind::norm || op->kind == RowwiseKind::mean) &&
           is_over_rows(graph, node);
}

NormRegion grow_norm(const Graph& graph, const Facts& facts, const std::set<NodeId>& taken,
                     NodeId node, bool residual) {
    return Grower(graph, facts, taken, node).run(residual);
}

}  // namespace fact::match
