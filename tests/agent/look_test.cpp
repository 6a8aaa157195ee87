#include "agent/look.h"

#include <gtest/gtest.h>

#include "../verify/small_graphs.h"

namespace fact::agent {
namespace {

using graph::Graph;
using verify::add_input;
using verify::add_node;
using verify::add_output;
using verify::dense;

// Layers 0 to 3, of which the last computes something else.
Graph layers() {
    Graph g;
    const auto type = dense(DType::bf16, {8, 64});
    auto x = add_input(g, "x", type);
    for (int layer = 0; layer < 4; ++layer) {
        x = add_node(g, layer == 3 ? "aten.relu.default" : "aten.tanh.default", {{"self", x}},
                     type);
        auto& where = g.nodes.back().where;
        where = {"model.py", 7, "", "layers." + std::to_string(layer) + ".act", "Tanh"};
    }
    add_output(
        g, add_node(g, "aten.sum.dim_IntList", {{"self", x}, {"dim", std::vector<std::int64_t>{1}}},
                    dense(DType::bf16, {8})));
    return g;
}

std::vector<sol::NodeBound> bounds(const Graph& g) {
    return sol::node_bounds(g, {}, *find_gpu("h200"));
}

TEST(Look, TellsLayersThatAreAlikeOnce) {
    const auto g = layers();
    EXPECT_EQ(look(g, bounds(g), {}).lines,
              (std::vector<std::string>{
                  "n0 = tanh(x bf16[8,64]) -> bf16[8,64]  model.py:7, layers.0.act  20.0%",
                  "... layers.1 to layers.2: each as layers.0, under other names  40.0%",
                  "n3 = relu(n2 bf16[8,64]) -> bf16[8,64]  model.py:7, layers.3.act  20.0%",
                  "n4 = sum.dim_IntList(n3 bf16[8,64], dim=[1]) -> bf16[8]    20.0%"}));
}

TEST(Look, OneModuleAndAFewLines) {
    const auto g = layers();
    LookRequest request;
    request.module = "layers.2";
    EXPECT_EQ(look(g, bounds(g), request).lines.size(), 1u);
    request.module = "layers.22";
    EXPECT_EQ(look(g, bounds(g), request).all, 0);
    request = {};
    request.fold = false;
    request.first = 3;
    request.count = 7;
    const auto looked = look(g, bounds(g), request);
    EXPECT_EQ(looked.lines.size(), 2u);
    EXPECT_EQ(looked.all, 5);
}

}  // namespace
}  // namespace fact::agent
