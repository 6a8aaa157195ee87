// From names of operators to a pattern: sets, interfaces, bindings.
#include "agent/proposal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../verify/small_graphs.h"

namespace fact::agent {
namespace {

using graph::Graph;
using verify::add_input;
using verify::add_node;
using verify::add_output;
using verify::dense;

// Rows of [batch, token, channel] through tanh, a gain and a softmax; the gain's result is returned
// as well.
Graph gated() {
    Graph g;
    const auto type = dense(DType::f32, {4, 32, 128});
    const auto x = add_input(g, "x", type);
    const auto gain = add_input(g, "gain", dense(DType::f32, {128}));
    g.inputs.back().kind = graph::InputKind::parameter;
    g.inputs.back().fqn = "block.norm.weight";
    const auto t = add_node(g, "aten.tanh.default", {{"self", x}}, type);
    const auto m = add_node(g, "aten.mul.Tensor", {{"self", t}, {"other", gain}}, type);
    const auto s = add_node(g, "aten.softmax.int", {{"self", m}, {"dim", std::int64_t{2}}}, type);
    add_output(g, m);
    add_output(g, s);
    return g;
}

std::vector<std::string> names(const Graph& g, const std::vector<graph::ValueId>& values) {
    std::vector<std::string> out;
    for (const auto value : values) out.push_back(g[value].name);
    return out;
}

TEST(NodeSet, ReadsAndHandsOutWhatCrossesItsBorder) {
    const auto g = gated();
    const auto set = node_set(g, {"n2", "n0", "n1"});
    ASSERT_TRUE(set) << set.error().text();
    EXPECT_EQ(names(g, set->inputs), (std::vector<std::string>{"x", "gain"}));
    EXPECT_EQ(names(g, set->outputs), (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(proposal_id(g, *set), proposal_id(g, *node_set(g, {"n0", "n1", "n2"})));
}

TEST(NodeSet, SaysWhatLiesBetween) {
    const auto set = node_set(gated(), {"n0", "n2"});
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().message, "these cannot be one kernel: n1 would have to run between them");
    EXPECT_EQ(set.error().hint, "this set can: n0, n1, n2");
}

TEST(NodeSet, RefusesWhatIsNotThere) {
    EXPECT_EQ(node_set(gated(), {"n11"}).error().hint, "did you mean 'n1'?");
    EXPECT_EQ(node_set(gated(), {}).error().message, "no operators were named");
    Graph g;
    add_node(g, "aten.tanh.default", {{"self", add_input(g, "x", dense(DType::f32, {8}))}},
             dense(DType::f32, {8}));
    EXPECT_EQ(node_set(g, {"n0"}).error().message,
              "nothing outside reads what these operators make");
}

TEST(Interface, NamesDimensionsThatGoTogether) {
    const auto g = gated();
    const auto interface = interface_of(g, *node_set(g, {"n0", "n1"}));
    EXPECT_EQ(empty_kernel("f", g, interface),
              "kernel f(\n"
              "    x: f32[B, M, K],\n"
              "    norm_weight: f32[K]\n"
              ") -> (\n"
              "    n1: f32[B, M, K]\n"
              ") {\n"
              "  n1 = ...\n"
              "}\n");
    EXPECT_TRUE(interface.params[1].constant);
    EXPECT_EQ(interface.extents.at("M"), 32);
}

// Pooled columns: no parameter has so many.
TEST(Interface, ExtentsThatNoParameterHasAreNumbers) {
    Graph g;
    const auto x = add_input(g, "x", dense(DType::f32, {4, 32}));
    add_output(g, add_node(g, "aten.avg_pool1d.default",
                           {{"self", x}, {"kernel_size", std::vector<std::int64_t>{4}}},
                           dense(DType::f32, {4, 8})));
    const auto interface = interface_of(g, *node_set(g, {"n0"}));
    EXPECT_EQ(interface.results.front().dim_names, (std::vector<std::string>{"B", "8"}));
    EXPECT_EQ(interface.extents.size(), 2u) << "of the parameter";
}

// As the memory lies; broadcast dimensions and those of extent one are not there.
TEST(Interface, ListsDimensionsInMemoryOrder) {
    Graph g;
    graph::TensorType turned{DType::bf16, {1, 64, 16, 8}, {0, 1, 64, 0}, 4, false, "cpu"};
    const auto x = add_input(g, "exp", turned);
    add_output(g, add_node(g, "aten.tanh.default", {{"self", x}}, turned));
    const auto interface = interface_of(g, *node_set(g, {"n0"}));
    const Tensor& tensor = interface.params.front();
    EXPECT_EQ(tensor.name, "t_exp") << "a function of the language";
    EXPECT_EQ(tensor.dims, (std::vector<int>{2, 1}));
    EXPECT_TRUE(tensor.contiguous);
}

match::Options options() {
    return {};
}

Result<match::Pattern> pattern(const std::string& text, Diagnostics& diagnostics,
                               const std::vector<std::string>& nodes = {"n0", "n1"}) {
    const auto g = gated();
    auto authored = author(g, *node_set(g, nodes), text, options(), diagnostics);
    if (!authored) return authored.error();
    return authored->pattern;
}

TEST(Bind, NeighboursMayBeOneDimension) {
    for (const std::string dims : {"B, M, K", "R, K", "B, M, 4*Q"}) {
        const bool product = dims.ends_with("Q");
        const auto last = product ? "4*Q" : "K";
        Diagnostics diagnostics;
        const auto found =
            pattern("kernel f(norm_weight: f32[" + std::string(last) + "], x: f32[" + dims +
                        "]) -> (n1: f32[" + dims + "]) {\n  n1 = tanh(x) * norm_weight\n}\n",
                    diagnostics);
        ASSERT_TRUE(found) << found.error().text() << render_all(diagnostics, "f", "");
        EXPECT_EQ(found->params[0].value, "gain");
        if (dims == "R, K") {
            EXPECT_EQ(found->params[1].dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
            EXPECT_EQ(found->extents.at("R"), 128);
        }
        if (product) {
            EXPECT_EQ(found->extents.at("Q"), 32);
        }
        EXPECT_EQ(found->author, match::Author::agent);
        EXPECT_EQ(found->nodes, (std::vector<std::string>{"n0", "n1"}));
        EXPECT_GT(found->cost.unfused_us, found->cost.bound_us);
    }
}

// Without a weight to tell them apart, names decide which neighbours are merged, and the factors of
// a merged dimension are the dimensions it merges.
TEST(Bind, NamesDecideWhichNeighboursAreMerged) {
    const struct {
        const char* dims;
        std::vector<std::vector<int>> groups;
        std::map<std::string, std::int64_t> extents;
    } readings[] = {
        {"R, K", {{0, 1}, {2}}, {{"R", 128}, {"K", 128}}},
        {"B, S", {{0}, {1, 2}}, {{"B", 4}, {"S", 4096}}},
        {"B*M, K", {{0, 1}, {2}}, {{"B", 4}, {"M", 32}, {"K", 128}}},
        {"B, M*K", {{0}, {1, 2}}, {{"B", 4}, {"M", 32}, {"K", 128}}},
    };
    for (const auto& [dims, groups, extents] : readings) {
        Diagnostics diagnostics;
        const auto text =
            fmt::format("kernel f(x: f32[{0}]) -> (n0: f32[{0}]) {{\n  n0 = tanh(x)\n}}\n", dims);
        const auto found = pattern(text, diagnostics, {"n0"});
        ASSERT_TRUE(found) << found.error().text() << render_all(diagnostics, "f", "");
        EXPECT_EQ(found->params[0].dims, groups) << dims;
        EXPECT_EQ(found->extents, extents) << dims;
    }
}

// In bytes, at most 16; steps of one element say nothing.
TEST(Bind, AlignmentFollowsOffsetAndStrides) {
    const struct {
        std::int64_t offset, row;
        int alignment;
    } placed[] = {{0, 64, 16}, {8, 64, 16}, {4, 64, 8}, {1, 64, 2}, {0, 68, 8}, {4, 66, 4}};
    for (const auto& [offset, row, alignment] : placed) {
        Graph g;
        const auto x =
            add_input(g, "x", {DType::bf16, {1, 64, 16, 8}, {0, 1, row, 0}, offset, false, "cpu"});
        add_output(g, add_node(g, "aten.tanh.default", {{"self", x}},
                               {DType::bf16, {1, 64, 16, 8}, {0, 1, 64, 0}, 0, false, "cpu"}));
        Diagnostics diagnostics;
        const auto authored =
            author(g, *node_set(g, {"n0"}),
                   "kernel f(x: bf16[M, N]) -> (n0: bf16[M, N]) { n0 = bf16(tanh(x)) }", options(),
                   diagnostics);
        ASSERT_TRUE(authored) << authored.error().text() << render_all(diagnostics, "f", "");
        EXPECT_EQ(authored->pattern.params[0].alignment, alignment) << offset << ", " << row;
        EXPECT_EQ(authored->pattern.results[0].alignment, 16) << offset << ", " << row;
    }
}

TEST(Bind, SaysWhatDoesNotFit) {
    const struct {
        const char *text, *message;
    } wrong[] = {
        {"kernel f(x: f32[B, M, K]) -> (n1: f32[B, M, K]) { n1 = tanh(x) }",
         "the text lacks the parameter 'norm_weight'"},
        {"kernel f(y: f32[B, M, K], norm_weight: f32[K]) -> (n1: f32[B, M, K]) { n1 = tanh(y) * "
         "norm_weight }",
         "the proposal has no parameter 'y'"},
        {"kernel f(x: bf16[B, M, K], norm_weight: f32[K]) -> (n1: f32[B, M, K]) { n1 = tanh(x) * "
         "norm_weight }",
         "parameter 'x' is f32, not bf16"},
        {"kernel f(x: f32[B, M, 64], norm_weight: f32[64]) -> (n1: f32[B, M, 64]) { n1 = tanh(x) "
         "* norm_weight }",
         "the dimensions of the text do not fit the tensors of the proposal"},
        {"kernel f(x: f32[B, M, P*Q], norm_weight: f32[P*Q]) -> (n1: f32[B, M, P*Q]) { n1 = "
         "tanh(x) * norm_weight }",
         "the tensors do not determine the extent of P"},
        {"kernel f(x: f32[R, K], norm_weight: f32[K]) -> (n1: f32[R, K]) where R % 3 == 0 { n1 = "
         "tanh(x) * norm_weight }",
         "the text requires R to be a multiple of 3, but it is 128"},
    };
    for (const auto& [text, message] : wrong) {
        Diagnostics diagnostics;
        const auto found = pattern(text, diagnostics);
        ASSERT_FALSE(found) << text;
        EXPECT_EQ(found.error().message, message);
        EXPECT_NE(found.error().hint.find("x: f32[B=4, M=32, K=128]"), std::string::npos)
            << found.error().hint;
        EXPECT_TRUE(diagnostics.ok());
    }
}

TEST(Bind, MistakesInTheTextAreDiagnostics) {
    for (const std::string text : {"", "Sure! Here is a kernel.", "def f(x): return x"}) {
        Diagnostics diagnostics;
        EXPECT_FALSE(pattern(text, diagnostics)) << text;
        EXPECT_EQ(diagnostics.ok(), text.empty()) << text;
    }
}

// The sum over a product's outputs is one output of a product with summed weights.
TEST(Author, TextsOfLessWorkHaveABoundOfTheirOwn) {
    Graph g;
    const auto x = add_input(g, "x", dense(DType::f32, {1024, 8192}));
    const auto w = add_input(g, "w", dense(DType::f32, {8192, 8192}));
    g.inputs.back().kind = graph::InputKind::parameter;
    g.inputs.back().fqn = "w";
    const auto y = add_node(g, "aten.linear.default", {{"input", x}, {"weight", w}},
                            dense(DType::f32, {1024, 8192}));
    const auto sums =
        add_node(g, "aten.sum.dim_IntList", {{"self", y}, {"dim", std::vector<std::int64_t>{1}}},
                 dense(DType::f32, {1024}));
    add_output(g, sums);
    const auto set = *node_set(g, {"n0", "n1"});
    const auto cost_by = [&](const std::string& body) {
        Diagnostics diagnostics;
        const auto authored =
            author(g, set, "kernel f(x: f32[B, K], w: f32[N, K]) -> (n1: f32[B]) {" + body + "}",
                   options(), diagnostics);
        EXPECT_TRUE(authored) << render_all(diagnostics, "f", "");
        return authored ? authored->pattern.cost : match::Cost{};
    };
    const auto as_written = cost_by("stored y = x @ w.T\n n1 = sum(y, over: N)");
    EXPECT_DOUBLE_EQ(as_written.hard_us, cost_of(g, set, options()).hard_us);
    const auto folded = cost_by("stored s = sum(w, over: N)\n n1 = sum(x * s, over: K)");
    EXPECT_LT(folded.hard_us, 0.1 * as_written.hard_us);
    EXPECT_LT(folded.bound_us, 0.1 * as_written.bound_us);
}

}  // namespace
}  // namespace fact::agent
