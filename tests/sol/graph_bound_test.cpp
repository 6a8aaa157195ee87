// Whole graphs, counted by hand on a GPU of round numbers.
#include "sol/graph_bound.h"

#include <gtest/gtest.h>

#include "../graph/graph_builder.h"
#include "round_gpu.h"

namespace fact::sol {
namespace {

using graph::NodeId;
using graph::testing::GraphBuilder;
using graph::testing::Sizes;
using graph::testing::tensor;
using testing::round_gpu;

// y = relu(x @ w.T), x and y of 16384 x 4096 bf16, 128 MiB each.
struct Mlp : GraphBuilder {
    static constexpr double kLarge = 16384. * 4096 * 2, kWeight = 4096. * 4096 * 2;
    static constexpr double kFlops = 2. * 16384 * 4096 * 4096;
    Mlp() {
        const auto large = tensor({16384, 4096}, DType::bf16);
        const auto x = input("x", large), w = input("w", tensor({4096, 4096}, DType::bf16));
        input("unused", large);
        const auto p = node("p", "aten.linear.default", {{"input", x}, {"weight", w}}, large);
        const auto y = node("y", "aten.relu.default", {{"self", p}}, large);
        const auto v = node("v", "aten.view.default", {{"self", y}, {"size", Sizes{2, 8192, 4096}}},
                            tensor({2, 8192, 4096}, DType::bf16));
        output(v);
        output(y);  // the same memory
        output(x);  // and one that is where it was
    }
};

TEST(GraphBound, OperatorsOneByOne) {
    const Mlp mlp;
    const auto nodes = node_bounds(mlp.graph, false, round_gpu());
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_DOUBLE_EQ(nodes[0].bound.hard_us, Mlp::kFlops / 1000e6);
    EXPECT_DOUBLE_EQ(nodes[0].unfused_us, Mlp::kFlops / 800e6);
    EXPECT_DOUBLE_EQ(nodes[1].unfused_us, 2 * Mlp::kLarge / 4e6);
    EXPECT_DOUBLE_EQ(nodes[1].bound.hard_us, (2 * Mlp::kLarge - 50 * 1048576.) / 5e6);
    EXPECT_EQ(nodes[2].unfused_us, 0);
}

TEST(GraphBound, TheIdealProgramMovesEverythingOnce) {
    const Mlp mlp;
    const auto nodes = node_bounds(mlp.graph, false, round_gpu());
    EXPECT_EQ(least_bytes(mlp.graph, nodes), 2 * Mlp::kLarge + Mlp::kWeight);
    const auto whole = graph_bound(mlp.graph, nodes, {}, false, round_gpu());
    EXPECT_DOUBLE_EQ(whole.ideal.calibrated_us, Mlp::kFlops / 800e6);
    EXPECT_DOUBLE_EQ(whole.ideal.hard_us, Mlp::kFlops / 1000e6);
    EXPECT_DOUBLE_EQ(whole.unfused_us, Mlp::kFlops / 800e6 + 2 * Mlp::kLarge / 4e6);
    EXPECT_DOUBLE_EQ(whole.fused.calibrated_us, whole.unfused_us);
    EXPECT_EQ(whole.only_bytes, 0);
}

// What a part shows to be needless, no program has to do; one by one the operators still do it.
TEST(GraphBound, TheIdealProgramDoesNoMoreThanItsParts) {
    const Mlp mlp;
    const auto nodes = node_bounds(mlp.graph, false, round_gpu());
    const std::vector<Part> parts{{{NodeId{0}, NodeId{1}}, {1, 1}, Mlp::kFlops / 2}};
    const auto whole = graph_bound(mlp.graph, nodes, parts, false, round_gpu());
    EXPECT_DOUBLE_EQ(whole.ideal.hard_us, Mlp::kFlops / 2 / 1000e6);
    EXPECT_DOUBLE_EQ(whole.unfused_us, Mlp::kFlops / 800e6 + 2 * Mlp::kLarge / 4e6);
}

TEST(GraphBound, OfOverlappingPartsTheBetterOneCounts) {
    const Mlp mlp;
    const auto gpu = round_gpu();
    const auto nodes = node_bounds(mlp.graph, false, gpu);
    const Part product{{NodeId{0}}, nodes[0].bound};
    const Part both{{NodeId{0}, NodeId{1}}, nodes[0].bound};
    const auto whole = graph_bound(mlp.graph, nodes, {product, both}, false, gpu);
    EXPECT_EQ(whole.used, std::vector<std::size_t>{1});
    EXPECT_DOUBLE_EQ(whole.fused.calibrated_us, Mlp::kFlops / 800e6);
    EXPECT_DOUBLE_EQ(whole.fused.hard_us, Mlp::kFlops / 1000e6);
}

TEST(GraphBound, FloatProductsAreSplitWhereTorchUsesNoTensorCores) {
    GraphBuilder g;
    const auto x = g.input("x", tensor({4096, 4096}));
    g.output(g.node("y", "aten.mm.default", {{"self", x}, {"mat2", x}}, tensor({4096, 4096})));
    const double flops = 2. * 4096 * 4096 * 4096;
    const auto exact = node_bounds(g.graph, false, round_gpu());
    EXPECT_DOUBLE_EQ(exact[0].bound.calibrated_us, flops / 200e6);
    EXPECT_DOUBLE_EQ(exact[0].unfused_us, flops / 40e6);
    const auto tf32 = node_bounds(g.graph, true, round_gpu());
    EXPECT_DOUBLE_EQ(tf32[0].bound.calibrated_us, flops / 800e6);
    EXPECT_DOUBLE_EQ(tf32[0].unfused_us, flops / 400e6);
    // Of torch's two settings, that of convolutions says nothing of products.
    const auto convolutions = node_bounds(g.graph, {false, true}, round_gpu());
    EXPECT_DOUBLE_EQ(convolutions[0].unfused_us, flops / 40e6);
}

TEST(GraphBound, OnlyThePartThatIsLookedAtIsRead) {
    GraphBuilder g;
    const auto x = g.input("x", tensor({1024, 1024}));
    const auto s = g.node("s", "aten.slice.Tensor", {{"self", x}}, tensor({4, 8}, {1024, 1}));
    g.output(g.node("y", "aten.relu.default", {{"self", s}}, tensor({4, 8})));
    const auto nodes = node_bounds(g.graph, false, round_gpu());
    EXPECT_EQ(least_bytes(g.graph, nodes), 4 * (32 + 32));
    // Three tiny things: a launch each for what runs, and one for the ideal program.
    const auto whole = graph_bound(g.graph, nodes, {}, false, round_gpu());
    EXPECT_EQ(whole.unfused_us, 2);
    EXPECT_EQ(whole.ideal.calibrated_us, 2);
    EXPECT_LT(whole.ideal.hard_us, 0.001);
}

}  // namespace
}  // namespace fact::sol
