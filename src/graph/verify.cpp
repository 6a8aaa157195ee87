// verify(), which graph/graph.h declares.
#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "graph/cats.h"
#include "graph/graph.h"
#include "graph/references.h"

namespace fact::graph {

namespace {

class Verifier {
  public:
    explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size()) {}

    std::string run() {
        check_values();
        for (const GraphInput& input : graph_.inputs) define(input.value, std::nullopt);
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(static_cast<NodeId>(i));
        for (const GraphOutput& output : graph_.outputs)
            if (output.value) read(*output.value, "the graph's outputs");
        for (std::size_t i = 0; i < defined_.size(); ++i)
            if (!defined_[i])
                fail(fmt::format("value '{}' is never defined", graph_.values[i].name));
        if (problem_.empty()) fail(misplaced(graph_));  // which needs a sound graph
        return problem_;
    }

  private:
    // Keeps the first problem.
    void fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
    }

    void check_values() {
        std::unordered_set<std::string> names;
        for (const Value& value : graph_.values) {
            if (value.name.empty()) fail("a value has no name");
            if (!names.insert(value.name).second)
                fail(fmt::format("two values are called '{}'", value.name));
            if (value.type && value.type->sizes.size() != value.type->strides.size())
                fail(fmt::format("value '{}' has {} sizes but {} strides", value.name,
                                 value.type->sizes.size(), value.type->strides.size()));
        }
    }

    void check_node(NodeId id) {
        const Node& node = graph_[id];
        if (!node_names_.insert(node.name).second)
            fail(fmt::format("two nodes are called '{}'", node.name));
        const std::string who = fmt::format("node '{}'", node.name);
        for (const NamedArgument& input : node.inputs)
            for_each_value(input.value, [&](ValueId value) { read(value, who); });
        for (const ValueId value : node.outputs) define(value, id);
    }

    bool exists(ValueId id, std::string_view who) {
        if (index(id) < graph_.values.size()) return true;
        fail(fmt::format("{}: value number {} does not exist", who, index(id)));
        return false;
    }

    void read(ValueId id, std::string_view who) {
        if (exists(id, who) && !defined_[index(id)])
            fail(fmt::format("{}: '{}' is used before it is defined", who, graph_[id].name));
    }

    void define(ValueId id, std::optional<NodeId> producer) {
        if (!exists(id, "a definition")) return;
        if (defined_[index(id)]) fail(fmt::format("'{}' is defined twice", graph_[id].name));
        defined_[index(id)] = true;
        if (graph_[id].producer != producer)
            fail(fmt::format("'{}' does not name the node that produces it", graph_[id].name));
    }

    const Graph& graph_;
    std::vector<bool> defined_;
    std::unordered_set<std::string> node_names_;
    std::string problem_;
};

}  // namespace

std::string verify(const Graph& graph) {
    return Verifier(graph).run();
}

}  // namespace fact::graph
