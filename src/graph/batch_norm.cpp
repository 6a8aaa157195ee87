#include "graph/batch_norm.h"

#include <numeric>
#include <utility>

namespace fact::graph {

namespace {

constexpr std::string_view kTarget = "aten._native_batch_norm_legit_functional.default";
// The outputs of kTarget; the inverse is that of the standard deviation.
enum { kResult, kMean, kInverse, kRunningMean, kRunningVariance };

// Whether the node is a batch norm in training mode, with arguments of known types.
bool can_split(const Graph& graph, const Node& node) {
    if (node.target != kTarget || node.outputs.size() != 5) return false;
    const auto* training = find_argument(node, "training");
    if (!training || *training != Argument{true}) return false;
    for (const char* name : {"input", "running_mean", "running_var"}) {
        const auto* argument = find_argument(node, name);
        const auto* value = argument ? std::get_if<ValueId>(argument) : nullptr;
        if (!value || !graph[*value].type || graph[*value].type->dynamic) return false;
    }
    // With narrower inputs, the statistics have other types on a GPU than on the CPU.
    for (const ValueId value : node.outputs)
        if (!graph[value].type || graph[value].type->dtype != DType::f32) return false;
    for (const char* name : {"momentum", "eps"}) {
        const auto* argument = find_argument(node, name);
        if (!argument || !std::holds_alternative<double>(*argument)) return false;
    }
    return true;
}

class Splitter {
  public:
    explicit Splitter(const Graph& graph) : graph_(graph) {}

    Graph run() {
        const std::vector<Node> before = std::exchange(graph_.nodes, {});
        for (const Node& node : before)
            if (can_split(graph_, node))
                split(node);
            else
                add(node);
        return std::move(graph_);
    }

  private:
    void add(Node node) {
        const auto place = static_cast<NodeId>(graph_.nodes.size());
        for (const ValueId value : node.outputs) graph_[value].producer = place;
        graph_.nodes.push_back(std::move(node));
    }

    // Adds an operator with one result: `result` or, if it is not given, a new value with the type
    // of `like`.
    ValueId step(const Node& of, std::string_view name, std::string_view target,
                 std::vector<NamedArgument> inputs, ValueId like,
                 std::optional<ValueId> result = {}) {
        Node node;
        node.name = of.name + "_" + std::string(name);
        node.target = target;
        node.where = of.where;
        node.inputs = std::move(inputs);
        if (!result) result = graph_.add_value({node.name, graph_[like].type, {}});
        node.outputs = {*result};
        add(std::move(node));
        return *result;
    }

    void split(const Node& original) {
        Node norm = original;
        norm.target = "aten._native_batch_norm_legit.no_stats";
        norm.outputs.resize(3);
        std::erase_if(norm.inputs, [](const NamedArgument& argument) {
            return argument.name == "running_mean" || argument.name == "running_var";
        });
        add(std::move(norm));

        const auto tensor = [&](const char* name) {
            return std::get<ValueId>(*find_argument(original, name));
        };
        const auto number = [&](const char* name) {
            return std::get<double>(*find_argument(original, name));
        };
        const auto& sizes = graph_[tensor("input")].type->sizes;
        const auto elements = std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies());
        const double count = elements / static_cast<double>(sizes.at(1));  // per channel
        const ValueId inverse = original.outputs[kInverse], mean = tensor("running_mean"),
                      variance = tensor("running_var");
        // `inverse` is 1 / sqrt(biased variance + eps); the running variance is the unbiased one.
        const ValueId squared =
            step(original, "squared", "aten.pow.Tensor_Scalar",
                 {{"self", inverse, false}, {"exponent", -2.0, false}}, inverse);
        const ValueId biased =
            step(original, "biased", "aten.sub.Tensor",
                 {{"self", squared, false}, {"other", number("eps"), false}}, inverse);
        const ValueId unbiased =
            step(original, "unbiased", "aten.mul.Tensor",
                 {{"self", biased, false}, {"other", count / (count - 1), false}}, inverse);
        const auto update = [&](const std::string& name, ValueId running, ValueId latest,
                                int output) {
            step(original, name, "aten.lerp.Scalar",
                 {{"self", running, false},
                  {"end", latest, false},
                  {"weight", number("momentum"), false}},
                 running, original.outputs[static_cast<std::size_t>(output)]);
        };
        update("running_mean", mean, original.outputs[kMean], kRunningMean);
        update("running_var", variance, unbiased, kRunningVariance);
    }

    Graph graph_;
};

}  // namespace

Graph split_batch_norms(const Graph& graph) {
    return Splitter(graph).run();
}

}  // namespace fact::graph
