#include "torch/executor.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "../graph/graph_builder.h"
#include "graph/cats.h"
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

// A fused call that doubles its input, where it is to be written if `obeys`.
struct Doubling {
    bool obeys = true;
    int in_place = 0;

    ExecutorOptions options() {
        return {c10::kCPU, [this](const std::string&) -> FusedFunction {
                    return [this](const Tensors& inputs, const Tensors& into) -> Tensors {
                        const auto result = inputs[0] + inputs[0];
                        if (into.empty() || !into[0].defined() || !obeys ||
                            into[0].scalar_type() != result.scalar_type())
                            return {result};
                        ++in_place;
                        return {into[0].copy_(result)};
                    };
                }};
    }
};

graph::ValueId doubled(GraphBuilder& b, const std::string& name, graph::ValueId x,
                       graph::TensorType type) {
    return b.node(name, std::string(graph::kFusedTarget),
                  {{"inputs", std::vector<graph::ValueId>{x}}, {"call", name}}, std::move(type));
}

graph::ValueId placed(GraphBuilder& b, const std::string& name, std::string_view target,
                      std::vector<graph::ValueId> parts, std::int64_t dim,
                      std::vector<bool> in_place, graph::TensorType type) {
    return b.node(name, std::string(target),
                  {{"tensors", std::move(parts)}, {"dim", dim}, {"in_place", std::move(in_place)}},
                  std::move(type));
}

// [2x, x, x, 4x], of which the first and the last are written in place.
graph::Graph joined(std::string_view target, std::int64_t dim, graph::TensorType whole) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3}));
    const auto y = doubled(b, "y", x, tensor({2, 3}));
    const auto z = doubled(b, "z", y, tensor({2, 3}));
    b.output(
        placed(b, "cat", target, {y, x, x, z}, dim, {true, false, false, true}, std::move(whole)));
    return std::move(b.graph);
}

TEST(Executor, PartsOfACatAreWrittenInPlace) {
    const auto x = at::randn({2, 3});
    const std::vector<at::Tensor> parts{x + x, x, x, 4 * x};
    for (const bool obeys : {true, false}) {
        Doubling calls{obeys};
        for (const std::int64_t dim : {0, 1}) {
            const auto executor = GraphExecutor::build(
                joined(graph::kCatTarget, dim, dim ? tensor({2, 12}) : tensor({8, 3})),
                calls.options());
            ASSERT_TRUE(executor) << executor.error().text();
            const auto result = executor->run({x})[0];
            EXPECT_TRUE(at::equal(result, at::cat(parts, dim)));
            EXPECT_EQ(result.storage().use_count(), 1u);
        }
        for (const std::int64_t dim : {0, 1, 2}) {
            std::vector<std::int64_t> sizes{2, 3};
            sizes.insert(sizes.begin() + dim, 4);
            const auto executor = GraphExecutor::build(
                joined(graph::kStackTarget, dim, tensor(sizes)), calls.options());
            ASSERT_TRUE(executor) << executor.error().text();
            EXPECT_TRUE(at::equal(executor->run({x})[0], at::stack(parts, dim)));
        }
        EXPECT_EQ(calls.in_place, obeys ? 10 : 0);
    }
}

TEST(Executor, ACatKeepsItsTracedLayout) {
    Doubling calls;
    const auto executor = GraphExecutor::build(
        joined(graph::kCatTarget, 1, tensor({2, 12}, graph::testing::Sizes{1, 2})),
        calls.options());
    ASSERT_TRUE(executor) << executor.error().text();
    const auto x = at::randn({2, 3});
    const auto result = executor->run({x})[0];
    EXPECT_EQ(result.strides(), at::IntArrayRef({1, 2}));
    EXPECT_TRUE(at::equal(result, at::cat({x + x, x, x, 4 * x}, 1)));
    EXPECT_EQ(calls.in_place, 2);
}

TEST(Executor, ACatOfOtherTypesIsTorchs) {
    Doubling calls;
    const auto executor =
        GraphExecutor::build(joined(graph::kCatTarget, 1, tensor({2, 12})), calls.options());
    ASSERT_TRUE(executor) << executor.error().text();
    const auto x = at::randn({2, 3}).to(at::kDouble);
    const auto result = executor->run({x})[0];
    EXPECT_EQ(result.scalar_type(), at::kDouble);
    EXPECT_TRUE(at::equal(result, at::cat({x + x, x, x, 4 * x}, 1)));
    EXPECT_EQ(calls.in_place, 0);
}

TEST(Executor, ACatInACatLiesInOneMemory) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3}));
    const auto y = doubled(b, "y", x, tensor({2, 3}));
    const auto inner =
        placed(b, "inner", graph::kCatTarget, {x, y}, 1, {false, true}, tensor({2, 6}));
    const auto z = doubled(b, "z", inner, tensor({2, 6}));
    b.output(placed(b, "outer", graph::kCatTarget, {inner, z}, 1, {true, true}, tensor({2, 12})));
    for (const bool obeys : {true, false}) {
        Doubling calls{obeys};
        const auto executor = GraphExecutor::build(b.graph, calls.options());
        ASSERT_TRUE(executor) << executor.error().text();
        for (int i = 0; i < 2; ++i) {
            const auto in = at::randn({2, 3});
            EXPECT_TRUE(
                at::equal(executor->run({in})[0], at::cat({in, 2 * in, 2 * in, 4 * in}, 1)));
        }
        EXPECT_EQ(calls.in_place, obeys ? 4 : 0);
    }
}

// What torch computes is copied once, to where the cat around it is.
TEST(Executor, ACatOfTorchsTensorsInACatLiesThereToo) {
    GraphBuilder b;
    const auto x = b.input("x", tensor({2, 3}));
    const auto inner =
        placed(b, "inner", graph::kCatTarget, {x, x}, 1, {false, false}, tensor({2, 6}));
    const auto z = doubled(b, "z", inner, tensor({2, 6}));
    b.output(placed(b, "outer", graph::kCatTarget, {inner, z}, 1, {true, true}, tensor({2, 12})));
    bool together = false;
    const auto fused = [&](const std::string&) -> FusedFunction {
        return [&](const Tensors& inputs, const Tensors& into) -> Tensors {
            together = inputs[0].is_alias_of(into.at(0));
            return {into.at(0).copy_(inputs[0] + inputs[0])};
        };
    };
    const auto executor = GraphExecutor::build(b.graph, {c10::kCPU, fused});
    ASSERT_TRUE(executor) << executor.error().text();
    const auto in = at::randn({2, 3});
    EXPECT_TRUE(at::equal(executor->run({in})[0], at::cat({in, in, 2 * in, 2 * in}, 1)));
    EXPECT_TRUE(together);
}

}  // namespace
}  // namespace fact::exec
