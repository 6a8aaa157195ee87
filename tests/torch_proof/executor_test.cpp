#include "torch/executor.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "../graph/graph_builder.h"
#include "graph/fused.h"

namespace fact::exec {
namespace {

using graph::testing::GraphBuilder;
using graph::testing::tensor;

// Whoever keeps what was made of a weight asks the view that it was given.
TEST(Executor, AViewOfAWeightCountsTheWeightsChanges) {
    GraphBuilder b;
    const auto w = b.input("w", tensor({4, 4}));
    const auto half = b.node("half", "aten.slice.Tensor",
                             {{"self", w},
                              {"dim", std::int64_t{0}},
                              {"start", std::int64_t{0}},
                              {"end", std::int64_t{2}},
                              {"step", std::int64_t{1}}},
                             tensor({2, 4}));
    b.output(b.node("y", std::string(graph::kFusedTarget),
                    {{"inputs", std::vector<graph::ValueId>{half}}, {"call", std::string("c")}},
                    tensor({2, 4})));
    std::vector<std::int64_t> versions;
    const auto fused = [&](const std::string&) -> FusedFunction {
        return [&](const Tensors& inputs, const Tensors&) -> Tensors {
            versions.push_back(inputs[0]._version());
            return {inputs[0].clone()};
        };
    };
    const auto executor = GraphExecutor::build(b.graph, {c10::kCPU, fused});
    ASSERT_TRUE(executor) << executor.error().text();
    const auto weight = at::ones({4, 4});
    executor->run({weight});
    executor->run({weight});
    weight.add_(1);
    executor->run({weight});
    ASSERT_EQ(versions.size(), 3u);
    EXPECT_EQ(versions[0], versions[1]);
    EXPECT_NE(versions[1], versions[2]);
}

// A kernel's results may lie otherwise than they were traced.
TEST(Executor, AViewOfWhatLiesOtherwiseIsACopy) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 4}));
    b.output(b.node("flat", "aten.view.default",
                    {{"self", x}, {"size", std::vector<std::int64_t>{8}}}, tensor({8})));
    const auto executor = GraphExecutor::build(b.graph, {c10::kCPU, {}});
    ASSERT_TRUE(executor) << executor.error().text();
    const auto wide = at::ones({2, 6});
    EXPECT_EQ(executor->run({wide.narrow(1, 0, 4)})[0].sizes(), at::IntArrayRef({8}));
}

}  // namespace
}  // namespace fact::exec
