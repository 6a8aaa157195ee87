#include "graph/batch_norm.h"

#include <numeric>
#include <utility>

#include "graph/splitter.h"

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

class BatchNormSplitter {
  public:
    explicit BatchNormSplitter(const Graph& graph) : splitter_(graph) {}

    Graph run() {
        return splitter_.run([&](const Node& node) {
            if (can_split(splitter_.graph(), node))
                split(node);
            else
                splitter_.add(node);
        });
    }

  private:
    void split(const Node& original) {
        Node norm = original;
        norm.target = "aten._native_batch_norm_legit.no_stats";
        norm.outputs.resize(3);
        std::erase_if(norm.inputs, [](const NamedArgument& argument) {
            return argument.name == "running_mean" || argument.name == "running_var";
        });
        splitter_.add(std::move(norm));

        const auto tensor = [&](const char* name) {
            return std::get<ValueId>(*find_argument(original, name));
        };
        const auto number = [&](const char* name) {
            return std::get<double>(*find_argument(original, name));
        };
        const auto& sizes = type_of(tensor("input"))->sizes;
        const auto elements = std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies());
        const double count = elements / static_cast<double>(sizes.at(1));  // per channel
        const ValueId inverse = original.outputs[kInverse], mean = tensor("running_mean"),
                      variance = tensor("running_var");
        // `inverse` is 1 / sqrt(biased variance + eps); the running variance is the unbiased one.
        const ValueId squared =
            splitter_.step(original, "squared", "aten.pow.Tensor_Scalar",
                           {{"self", inverse, false}, {"exponent", -2.0, false}}, type_of(inverse));
        const ValueId biased = splitter_.step(
            original, "biased", "aten.sub.Tensor",
            {{"self", squared, false}, {"other", number("eps"), false}}, type_of(inverse));
        const ValueId unbiased = splitter_.step(
            original, "unbiased", "aten.mul.Tensor",
            {{"self", biased, false}, {"other", count / (count - 1), false}}, type_of(inverse));
        const auto update = [&](const std::string& name, ValueId running, ValueId latest,
                                int output) {
            splitter_.step(original, name, "aten.lerp.Scalar",
                           {{"self", running, false},
                            {"end", latest, false},
                            {"weight", number("momentum"), false}},
                           type_of(running), original.outputs[static_cast<std::size_t>(output)]);
        };
        update("running_mean", mean, original.outputs[kMean], kRunningMean);
        update("running_var", variance, unbiased, kRunningVariance);
    }

    const std::optional<TensorType>& type_of(ValueId value) const {
        return splitter_.graph()[value].type;
    }

    Splitter splitter_;
};

}  // namespace

Graph split_batch_norms(const Graph& graph) {
    return BatchNormSplitter(graph).run();
}

}  // namespace fact::graph
