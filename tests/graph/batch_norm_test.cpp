#include "graph/batch_norm.h"

#include <gtest/gtest.h>

#include "graph/canonical.h"
#include "graph/printer.h"

namespace fact::graph {
namespace {

TensorType dense(std::vector<std::int64_t> sizes) {
    TensorType type;
    type.sizes = sizes;
    type.strides.assign(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) type.strides[i - 1] = type.strides[i] * sizes[i];
    return type;
}

// y = batch_norm(x), which also gives the new running mean and variance.
Graph norm_in_training(double momentum) {
    Graph graph;
    const ValueId x = graph.add_value({"x", dense({64, 8}), {}});
    const ValueId mean = graph.add_value({"mean", dense({8}), {}});
    const ValueId variance = graph.add_value({"variance", dense({8}), {}});
    graph.inputs = {{.value = x, .kind = InputKind::user, .fqn = "", .fixed = {}},
                    {.value = mean, .kind = InputKind::buffer, .fqn = "mean", .fixed = {}},
                    {.value = variance, .kind = InputKind::buffer, .fqn = "variance", .fixed = {}}};
    Node node;
    node.target = "aten._native_batch_norm_legit_functional.default";
    node.name = "norm";
    node.inputs = {{"input", x},
                   {"weight", None{}},
                   {"bias", None{}},
                   {"running_mean", mean},
                   {"running_var", variance},
                   {"training", true},
                   {"momentum", momentum},
                   {"eps", 1e-5}};
    const auto place = static_cast<NodeId>(0);
    node.outputs.push_back(graph.add_value({"y", dense({64, 8}), place}));
    for (const char* name : {"save_mean", "save_inverse", "new_mean", "new_variance"})
        node.outputs.push_back(graph.add_value({name, dense({8}), place}));
    graph.nodes.push_back(node);
    graph.outputs = {{.value = node.outputs[3], .fixed = None{}, .mutates = "mean"},
                     {.value = node.outputs[4], .fixed = None{}, .mutates = "variance"},
                     {.value = node.outputs[0], .fixed = None{}, .mutates = ""}};
    return graph;
}

TEST(BatchNorm, IsSplitFromItsRunningStatistics) {
    const Graph split = canonicalize(norm_in_training(0.1));
    EXPECT_EQ(verify(split), "");
    std::vector<std::string> targets;
    for (const Node& node : split.nodes) targets.push_back(node.target);
    EXPECT_EQ(targets,
              (std::vector<std::string>{
                  "aten._native_batch_norm_legit.no_stats", "aten.pow.Tensor_Scalar",
                  "aten.sub.Tensor", "aten.mul.Tensor", "aten.lerp.Scalar", "aten.lerp.Scalar"}));
    // 64 values of each channel: the unbiased variance is 64 / 63 of the biased one.
    EXPECT_EQ(*find_argument(split.nodes[3], "other"), Argument{64.0 / 63.0});
    EXPECT_EQ(split.nodes[0].outputs.size(), 3u);
    EXPECT_EQ(split[*split.outputs[0].value].name, "new_mean");
}

TEST(BatchNorm, InInferenceStaysAsItIs) {
    Graph graph = norm_in_training(0.1);
    for (auto& input : graph.nodes[0].inputs)
        if (input.name == "training") input.value = false;
    EXPECT_EQ(split_batch_norms(graph).nodes.size(), 1u);
}

}  // namespace
}  // namespace fact::graph
