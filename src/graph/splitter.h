// Puts several nodes in the place of one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// A graph whose nodes are added again one after another, in other forms where that is wanted.
class Splitter {
  public:
    explicit Splitter(const Graph& graph) : graph_(graph) {}

    // Calls `add_again(node)` for each node, in order, which adds it or what stands in its place.
    template <class AddAgain>
    Graph run(AddAgain add_again) {
        const std::vector<Node> before = std::exchange(graph_.nodes, {});
        for (const Node& node : before) add_again(node);
        return std::move(graph_);
    }

    void add(Node node) {
        const auto place = static_cast<NodeId>(graph_.nodes.size());
        for (const ValueId value : node.outputs) graph_[value].producer = place;
        graph_.nodes.push_back(std::move(node));
    }

    // Adds an operator with one result, a new value of this type or `result`, which takes the place
    // of a part of `of`.
    ValueId step(const Node& of, const std::string& name, std::string_view target,
                 std::vector<NamedArgument> inputs, const std::optional<TensorType>& type,
                 std::optional<ValueId> result = {}) {
        Node node;
        node.name = of.name + "_" + name;
        node.target = target;
        node.where = of.where;
        node.inputs = std::move(inputs);
        if (!result) result = graph_.add_value({node.name, type, {}});
        node.outputs = {*result};
        add(std::move(node));
        return *result;
    }

    const Graph& graph() const { return graph_; }

  private:
    Graph graph_;
};

}  // namespace fact::graph
