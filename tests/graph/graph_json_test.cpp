#include "graph/graph_json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "archive_builder.h"
#include "graph/fused.h"
#include "graph/pt2_archive.h"
#include "graph_builder.h"
#include "test_data.h"

namespace fact::graph {
namespace {

using testing::GraphBuilder;
using testing::tensor;

// Field by field, since texts alone could agree on something both lost.
void expect_same(const Graph& a, const Graph& b) {
    EXPECT_EQ(a.in_spec, b.in_spec);
    EXPECT_EQ(a.out_spec, b.out_spec);
    EXPECT_EQ(a.torch_version, b.torch_version);
    EXPECT_EQ(a.schema_version, b.schema_version);
    ASSERT_EQ(a.values.size(), b.values.size());
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        EXPECT_EQ(a.values[i].name, b.values[i].name);
        EXPECT_EQ(a.values[i].type, b.values[i].type);
        EXPECT_EQ(a.values[i].producer, b.values[i].producer);
    }
    ASSERT_EQ(a.nodes.size(), b.nodes.size());
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        EXPECT_EQ(a.nodes[i].name, b.nodes[i].name);
        EXPECT_EQ(a.nodes[i].target, b.nodes[i].target);
        EXPECT_EQ(a.nodes[i].inputs, b.nodes[i].inputs) << a.nodes[i].name;
        EXPECT_EQ(a.nodes[i].outputs, b.nodes[i].outputs);
        EXPECT_EQ(a.nodes[i].returns_list, b.nodes[i].returns_list);
        EXPECT_EQ(a.nodes[i].where, b.nodes[i].where);
    }
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
        EXPECT_EQ(a.inputs[i].value, b.inputs[i].value);
        EXPECT_EQ(a.inputs[i].kind, b.inputs[i].kind);
        EXPECT_EQ(a.inputs[i].fqn, b.inputs[i].fqn);
        EXPECT_EQ(a.inputs[i].fixed, b.inputs[i].fixed);
    }
    ASSERT_EQ(a.outputs.size(), b.outputs.size());
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
        EXPECT_EQ(a.outputs[i].value, b.outputs[i].value);
        EXPECT_EQ(a.outputs[i].fixed, b.outputs[i].fixed);
        EXPECT_EQ(a.outputs[i].mutates, b.outputs[i].mutates);
    }
}

Graph every_argument() {
    GraphBuilder b;
    const ValueId x = b.input("x", tensor({2}));
    const std::vector<Argument> arguments{
        None{},
        x,
        std::vector<ValueId>{x, x},
        std::vector<std::optional<ValueId>>{std::nullopt, x},
        true,
        std::int64_t{-9223372036854775807 - 1},
        0.1,
        -INFINITY,
        2.0,
        std::string("text \"quoted\" \n"),
        std::vector<bool>{true, false},
        std::vector<std::int64_t>{},
        std::vector<double>{1.5, INFINITY},
        std::vector<std::string>{"a", ""},
        DTypeArg{DType::bf16},
        MemoryFormatArg{2},
        LayoutArg{7},
        DeviceArg{"cuda:0"},
        OpaqueArg{"as_graph", "{\"a\": 1}"},
    };
    std::vector<NamedArgument> inputs;
    for (const Argument& argument : arguments)
        inputs.push_back({std::to_string(inputs.size()), argument, inputs.size() % 2 == 1});
    b.output(b.node("y", "test.every.default", inputs, tensor({2}, DType::boolean)));
    b.graph.outputs.push_back({std::nullopt, std::int64_t{3}, {}});
    b.graph.outputs.push_back({x, None{}, "buffer"});
    b.graph.inputs[0].fixed = Argument(2.5);
    b.graph.nodes[0].where = {"model.py", 3, "y = f(x)", "blocks.0", "Block"};
    b.graph.values[0].type->dynamic = true;
    return b.graph;
}

TEST(GraphJson, RoundTrips) {
    std::vector<Graph> graphs{every_argument(), Graph{}};
    for (const std::string name : {"gpt_block.pt2", "features.pt2"}) {
        const auto archive = read_pt2(std::filesystem::path(FACT_TEST_DATA) / "data" / name);
        ASSERT_TRUE(archive) << archive.error().text();
        graphs.push_back(archive->graph);
    }
    for (const Graph& graph : graphs) {
        const std::string text = to_json(graph);
        const auto again = graph_from_json(text);
        ASSERT_TRUE(again) << again.error().text();
        expect_same(graph, *again);
        EXPECT_EQ(to_json(*again), text);
    }
}

TEST(GraphJson, KeepsNaN) {
    Graph graph = every_argument();
    graph.nodes[0].inputs[6].value = std::nan("");
    const auto again = graph_from_json(to_json(graph));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(std::isnan(std::get<double>(again->nodes[0].inputs[6].value)));
}

TEST(GraphJson, RefusesWhatIsNotAGraph) {
    const auto error = [](std::string_view text) {
        const auto graph = graph_from_json(text);
        return graph ? std::string("read without an error") : graph.error().message;
    };
    EXPECT_EQ(error("{}"), "cannot read the graph: field 'format' is missing");
    EXPECT_EQ(error("{\"format\": 2}"),
              "cannot read the graph: written by another version of FACT (format 2, not 1)");
    const std::string empty = to_json(Graph{});
    EXPECT_NE(error(empty.substr(0, empty.size() / 2)).find("not valid JSON"), std::string::npos);
    const std::string unsound =
        testing::replaced(to_json(every_argument()), "\"value\": \"x\"", "\"value\": \"z\"");
    EXPECT_EQ(error(unsound), "cannot read the graph: unknown value 'z'");
}

TEST(FusedJson, RoundTrips) {
    const FusedCall call{
        .id = "p00_linear",
        .kernel = "linear",
        .params = {{"x", "input", {{0, 1}, {2}}, false}, {"w", "weight", {}, true}},
        .results = {{"y", "linear", {{0}, {}}, false}},
        .original = every_argument()};
    const std::string text = to_json(call);
    const auto again = fused_call_from_json(text);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->id, call.id);
    EXPECT_EQ(again->kernel, call.kernel);
    EXPECT_EQ(again->params, call.params);
    EXPECT_EQ(again->results, call.results);
    expect_same(again->original, call.original);
    EXPECT_EQ(to_json(*again), text);

    const auto broken = fused_call_from_json("{\"id\": \"a\", \"kernel\": 3}");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().message,
              "cannot read the fused call: expected a string, found number");
}

}  // namespace
}  // namespace fact::graph
