#include "graph/canonical.h"

#include <algorithm>
#include <numeric>

#include "graph/batch_norm.h"
#include "graph/einsum.h"
#include "graph/identity.h"
#include "graph/normalize.h"
#include "graph/references.h"

namespace fact::graph {

namespace {

ValueId id_of(std::size_t i) {
    return static_cast<ValueId>(i);
}

// Which values share storage, and how many graph outputs use each storage: after a copy is dropped,
// no output may alias an input or another output unless it did in the original.
class Storages {
  public:
    explicit Storages(const Graph& graph)
        : parent_(graph.values.size()),
          is_input_(graph.values.size()),
          num_outputs_(graph.values.size()) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
        for (const GraphInput& input : graph.inputs) is_input_[index(input.value)] = true;
        for (const Node& node : graph.nodes) {
            const auto reads = tensor_inputs(node);
            if (reads.empty() || !is_view(node)) continue;
            for (const ValueId output : node.outputs) parent_[index(output)] = root(reads[0]);
        }
        for (const GraphOutput& output : graph.outputs)
            if (output.value) ++num_outputs_[root(*output.value)];
    }

    // Lets `copy` share the storage of `source`; false if an output would then alias an input or
    // another output.
    bool try_share(ValueId copy, ValueId source) {
        const std::size_t from = root(copy), to = root(source);
        if (num_outputs_[from] > 0 && (is_input_[to] || num_outputs_[to] > 0)) return false;
        parent_[from] = to;
        num_outputs_[to] += num_outputs_[from];
        return true;
    }

  private:
    std::size_t root(ValueId id) const {
        std::size_t at = index(id);
        while (parent_[at] != at) at = parent_[at];
        return at;
    }

    std::vector<std::size_t> parent_;
    std::vector<bool> is_input_;
    std::vector<int> num_outputs_;
};

class Canonicalizer {
  public:
    explicit Canonicalizer(const Graph& graph)
        : graph_(graph),
          storages_(graph),
          replacement_(graph.values.size()),
          is_live_(graph.values.size()),
          keep_node_(graph.nodes.size()) {
        for (std::size_t i = 0; i < replacement_.size(); ++i) replacement_[i] = id_of(i);
    }

    Graph run() {
        find_references();
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) rewrite(i);
        for (GraphOutput& output : graph_.outputs)
            if (output.value) output.value = replacement_[index(*output.value)];
        mark_live();
        return rebuild();
    }

  private:
    // What is read in the original graph: values that opaque arguments name must stay, and an
    // operator with several results is dropped only if no result but the first is read.
    void find_references() {
        const NameIndex names(graph_);
        is_named_.resize(graph_.values.size());
        is_read_ = escapes(graph_);
        for (const Node& node : graph_.nodes)
            for (const NamedArgument& input : node.inputs) {
                for_each_value(input.value, [&](ValueId id) { is_read_[index(id)] = true; });
                for (const ValueId id : names.opaque_references(input.value))
                    is_named_[index(id)] = is_read_[index(id)] = true;
            }
    }

    void rewrite(std::size_t i) {
        Node& node = graph_.nodes[i];
        for (NamedArgument& input : node.inputs)
            for_each_value(input.value, [&](ValueId& id) { id = replacement_[index(id)]; });
        if (is_inert_check(node)) return;
        normalize_arguments(graph_, node);
        keep_node_[i] = !drop(node);
    }

    // Lets the readers of an identity read its source instead; false if the node must stay.
    bool drop(const Node& node) {
        if (broadcasts_nothing(graph_, node)) return drop_broadcast(node);
        const auto identity = identity_of(graph_, node);
        if (!identity || is_named_[index(node.outputs[0])]) return false;
        for (std::size_t i = 1; i < node.outputs.size(); ++i)
            if (is_read_[index(node.outputs[i])]) return false;
        if (identity->copies && !storages_.try_share(node.outputs[0], identity->source))
            return false;
        replacement_[index(node.outputs[0])] = identity->source;
        return true;
    }

    bool drop_broadcast(const Node& node) {
        for (const ValueId output : node.outputs)
            if (is_named_[index(output)]) return false;
        const auto sources = tensor_inputs(node);
        for (std::size_t i = 0; i < sources.size(); ++i)
            replacement_[index(node.outputs[i])] = sources[i];
        return true;
    }

    // An operator without results is there for its effect. Torch's own operators with results have
    // no effect; others may have.
    static bool has_effect(const Node& node) {
        if (node.outputs.empty()) return true;
        for (const std::string_view pure : {"aten.", "prims.", "_operator.", "math.", "torch.sym_"})
            if (node.target.starts_with(pure)) return false;
        return true;
    }

    void mark_live() {
        const NameIndex names(graph_);
        for (const GraphInput& input : graph_.inputs) is_live_[index(input.value)] = true;
        for (const GraphOutput& output : graph_.outputs)
            if (output.value) is_live_[index(*output.value)] = true;
        for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
            const Node& node = graph_.nodes[i];
            if (!keep_node_[i]) continue;
            keep_node_[i] =
                has_effect(node) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                                [&](ValueId id) { return is_live_[index(id)]; });
            if (!keep_node_[i]) continue;
            for (const ValueId id : node.outputs) is_live_[index(id)] = true;
            for (const NamedArgument& input : node.inputs) {
                for_each_value(input.value, [&](ValueId id) { is_live_[index(id)] = true; });
                for (const ValueId id : names.opaque_references(input.value))
                    is_live_[index(id)] = true;
            }
        }
    }

    // Moves live values and nodes to a graph without gaps.
    Graph rebuild() {
        Graph result;
        result.in_spec = graph_.in_spec;
        result.out_spec = graph_.out_spec;
        result.torch_version = graph_.torch_version;
        result.schema_version = graph_.schema_version;
        std::vector<ValueId> moved(graph_.values.size());
        for (std::size_t i = 0; i < graph_.values.size(); ++i)
            if (is_live_[i])
                moved[i] = result.add_value({graph_.values[i].name, graph_.values[i].type, {}});
        result.inputs = std::move(graph_.inputs);
        for (GraphInput& input : result.inputs) input.value = moved[index(input.value)];
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            if (!keep_node_[i]) continue;
            Node& node = graph_.nodes[i];
            for (NamedArgument& input : node.inputs)
                for_each_value(input.value, [&](ValueId& id) { id = moved[index(id)]; });
            const auto position = static_cast<NodeId>(result.nodes.size());
            for (ValueId& id : node.outputs) {
                id = moved[index(id)];
                result[id].producer = position;
            }
            result.nodes.push_back(std::move(node));
        }
        result.outputs = std::move(graph_.outputs);
        for (GraphOutput& output : result.outputs)
            if (output.value) output.value = moved[index(*output.value)];
        return result;
    }

    Graph graph_;
    Storages storages_;
    std::vector<ValueId> replacement_;
    std::vector<bool> is_live_;    // by value: it is in the result
    std::vector<bool> keep_node_;  // by node
    std::vector<bool> is_named_;   // by value: an opaque argument names it
    std::vector<bool> is_read_;    // by value, in the original graph
};

}  // namespace

Graph canonicalize(const Graph& graph) {
    return Canonicalizer(split_einsums(split_batch_norms(graph))).run();
}

}  // namespace fact::graph
