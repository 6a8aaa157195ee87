#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph_builder.h"
#include "support/result.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::tensor;

struct Sample {
    GraphBuilder builder;
    ValueId x, y, sum, cat;

    Sample() {
        x = builder.input("x", tensor({2, 3}));
        y = builder.input("y", tensor({2, 3}));
        sum = builder.node("sum", "aten.add.Tensor", {{"self", x}, {"other", x}}, tensor({2, 3}));
        cat = builder.node("cat", "aten.cat.default",
                           {{"tensors", std::vector<ValueId>{sum, y}}, {"dim", std::int64_t{0}}},
                           tensor({4, 3}));
        builder.output(cat);
    }
};

TEST(Graph, AnswersAboutArgumentsAndUsers) {
    const Sample s;
    const Graph& graph = s.builder.graph;
    EXPECT_EQ(*find_argument(graph.nodes[1], "dim"), Argument(std::int64_t{0}));
    EXPECT_EQ(find_argument(graph.nodes[1], "alpha"), nullptr);
    EXPECT_EQ(tensor_inputs(graph.nodes[0]), (std::vector<ValueId>{s.x, s.x}));
    EXPECT_EQ(tensor_inputs(graph.nodes[1]), (std::vector<ValueId>{s.sum, s.y}));
    const auto readers = users(graph);
    EXPECT_EQ(readers[index(s.x)], std::vector<NodeId>{NodeId{0}});
    EXPECT_EQ(readers[index(s.sum)], std::vector<NodeId>{NodeId{1}});
    EXPECT_TRUE(readers[index(s.cat)].empty());
    EXPECT_EQ(escapes(graph), (std::vector<bool>{false, false, false, true}));
}

TEST(Graph, CountsReadersThatNameAValue) {
    Sample s;
    s.builder.check("hop", "higher_order.call",
                    {{"operands", OpaqueArg{"as_nested_tensors", R"([[{"name": "sum"}]])"}}});
    EXPECT_EQ(users(s.builder.graph)[index(s.sum)], (std::vector<NodeId>{NodeId{1}, NodeId{2}}));
}

TEST(Graph, DescribesPlaces) {
    Provenance where{.file = "/home/me/model.py",
                     .line = 41,
                     .code = {},
                     .module_path = "blocks.0",
                     .module_type = {}};
    EXPECT_EQ(describe(where), "model.py:41, blocks.0");
    where.module_path.clear();
    EXPECT_EQ(describe(where), "model.py:41");
    EXPECT_EQ(describe({.file = {}, .code = {}, .module_path = "fc", .module_type = {}}), "fc");
    EXPECT_EQ(describe({}), "");
}

TEST(Graph, VerifiesSoundness) {
    const Graph sound = Sample().builder.graph;
    EXPECT_EQ(verify(sound), "");

    const auto problem = [&](auto damage) {
        Graph graph = sound;
        damage(graph);
        return verify(graph);
    };
    EXPECT_EQ(problem([](Graph& g) { g.nodes[0].inputs[0].value = ValueId{3}; }),
              "node 'sum': 'cat' is used before it is defined");
    EXPECT_EQ(problem([](Graph& g) { g.nodes[0].inputs[0].value = ValueId{9}; }),
              "node 'sum': value number 9 does not exist");
    EXPECT_EQ(problem([](Graph& g) { g.nodes[1].outputs = {ValueId{2}}; }),
              "'sum' is defined twice");
    EXPECT_EQ(problem([](Graph& g) { g.values[2].producer = NodeId{1}; }),
              "'sum' does not name the node that produces it");
    EXPECT_EQ(problem([](Graph& g) { g.values[1].name = "x"; }), "two values are called 'x'");
    EXPECT_EQ(problem([](Graph& g) { g.nodes[1].name = "sum"; }), "two nodes are called 'sum'");
    EXPECT_EQ(problem([](Graph& g) { g.values[0].type->strides.pop_back(); }),
              "value 'x' has 2 sizes but 1 strides");
    EXPECT_EQ(problem([](Graph& g) { g.values.push_back({"stray", {}, {}}); }),
              "value 'stray' is never defined");
    EXPECT_EQ(problem([](Graph& g) { g.outputs[0].value = ValueId{7}; }),
              "the graph's outputs: value number 7 does not exist");
}

TEST(Graph, ExtractsAPart) {
    Sample s;
    s.builder.graph.nodes[1].where.line = 5;
    const Graph part = extract(s.builder.graph, {NodeId{1}}, {s.y, s.sum}, {s.cat});
    EXPECT_EQ(verify(part), "");
    ASSERT_EQ(part.inputs.size(), 2u);
    EXPECT_EQ(part[part.inputs[0].value].name, "y");
    EXPECT_EQ(part[part.inputs[1].value].name, "sum");
    EXPECT_EQ(part.inputs[0].kind, InputKind::user);
    ASSERT_EQ(part.nodes.size(), 1u);
    EXPECT_EQ(part.nodes[0].name, "cat");
    EXPECT_EQ(part.nodes[0].where.line, 5);
    EXPECT_EQ(part[*part.outputs[0].value].type, tensor({4, 3}));

    // Nodes may be named in any order; what is missing is our own mistake.
    EXPECT_EQ(verify(extract(s.builder.graph, {NodeId{1}, NodeId{0}}, {s.x, s.y}, {s.cat})), "");
    EXPECT_THROW(extract(s.builder.graph, {NodeId{1}}, {s.y}, {s.cat}), InternalError);
    EXPECT_THROW(extract(s.builder.graph, {NodeId{0}}, {s.x}, {s.cat}), InternalError);
}

}  // namespace
}  // namespace fact::graph
