#include "agent/learned_rule.h"

#include <gtest/gtest.h>

#include "../verify/small_graphs.h"

namespace fact::agent {
namespace {

using graph::Graph;
using verify::add_input;
using verify::add_node;
using verify::add_output;
using verify::dense;

// cap * tanh(x / cap), and its sums along rows, `times` one after the other.
Graph capped(std::vector<std::int64_t> sizes, double cap = 30, int times = 1) {
    Graph g;
    const auto type = dense(DType::f32, sizes);
    sizes.pop_back();
    auto x = add_input(g, "logits", type);
    for (int i = 0; i < times; ++i) {
        const auto d = add_node(g, "aten.div.Tensor", {{"self", x}, {"other", cap}}, type);
        const auto t = add_node(g, "aten.tanh.default", {{"self", d}}, type);
        x = add_node(g, "aten.mul.Tensor", {{"self", t}, {"other", cap}}, type);
        const auto s = add_node(g, "aten.sum.dim_IntList",
                                {{"self", x}, {"dim", std::vector<std::int64_t>{1}}},
                                dense(DType::f32, sizes));
        add_output(g, s);
    }
    add_output(g, x);
    return g;
}

LearnedRule learned() {
    auto g = capped({8, 64});
    for (auto& node : g.nodes) node.where = {"/home/somebody/secret/model.py", 7, "x", "", ""};
    const auto set = node_set(g, {"n0", "n1", "n2", "n3"});
    Diagnostics diagnostics;
    const auto authored = author(g, *set,
                                 "kernel cap(logits: f32[M, N]) -> (n2: f32[M, N], n3: f32[M]) {\n"
                                 "  n2 = tanh(logits / 30.0) * 30.0\n  n3 = sum(n2, over: N)\n}\n",
                                 {}, diagnostics);
    EXPECT_TRUE(authored) << authored.error().text() << render_all(diagnostics, "t", "");
    return rule_of(g, *set, authored->pattern, "a test");
}

TEST(LearnedRule, FindsTheSameOperatorsOfOtherExtents) {
    const auto rule = learned();
    const auto found = find_matches(capped({100, 7}, 30, 2), rule, {});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].nodes, (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
    EXPECT_EQ(found[1].nodes, (std::vector<std::string>{"n4", "n5", "n6", "n7"}));
    EXPECT_EQ(found[0].extents, (std::map<std::string, std::int64_t>{{"M", 100}, {"N", 7}}));
    EXPECT_EQ(found[1].params[0].value, "n2");
    EXPECT_EQ(found[0].author, match::Author::learned);
    EXPECT_NE(found[0].id, found[1].id);
}

// What is looked up in rows by indices that nothing else reads, beside the sums of the rows.
TEST(LearnedRule, FindsOperatorsThatTheLastOneDoesNotDependOn) {
    const auto looked_up = [](std::int64_t rows, std::int64_t columns) {
        Graph g;
        const auto x = add_input(g, "x", dense(DType::f32, {rows, columns}));
        const auto labels = add_input(g, "labels", dense(DType::i64, {rows}));
        const auto row = dense(DType::f32, {rows});
        const auto e = add_node(g, "aten.exp.default", {{"self", x}}, *g[x].type);
        const auto i =
            add_node(g, "aten.unsqueeze.default", {{"self", labels}, {"dim", std::int64_t{1}}},
                     dense(DType::i64, {rows, 1}));
        const auto found = add_node(g, "aten.gather.default",
                                    {{"self", e}, {"dim", std::int64_t{1}}, {"index", i}},
                                    dense(DType::f32, {rows, 1}));
        add_output(
            g, add_node(g, "aten.squeeze.dim", {{"self", found}, {"dim", std::int64_t{1}}}, row));
        add_output(g, add_node(g, "aten.sum.dim_IntList",
                               {{"self", e}, {"dim", std::vector<std::int64_t>{1}}}, row));
        return g;
    };
    const auto g = looked_up(8, 64);
    const auto set = node_set(g, {"n0", "n1", "n2", "n3", "n4"});
    Diagnostics diagnostics;
    const auto authored = author(
        g, *set,
        "kernel f(x: f32[M, N], labels: i64[M]) -> (n3: f32[M], n4: f32[M]) {\n  e = exp(x)\n"
        "  n3 = sum(where(i32(labels).expand(M, N) == index(N), e, 0.0), over: N)\n"
        "  n4 = sum(e, over: N)\n}\n",
        {}, diagnostics);
    ASSERT_TRUE(authored) << authored.error().text() << render_all(diagnostics, "t", "");
    EXPECT_EQ(find_matches(looked_up(16, 32), rule_of(g, *set, authored->pattern, ""), {}).size(),
              1u);
}

TEST(LearnedRule, OtherNumbersTypesAndRanksAreOtherOperators) {
    const auto rule = learned();
    EXPECT_TRUE(find_matches(capped({8, 64}, 31), rule, {}).empty());
    EXPECT_TRUE(find_matches(capped({8, 4, 16}), rule, {}).empty());
    auto halves = capped({8, 64});
    for (auto& value : halves.values) value.type->dtype = DType::bf16;
    EXPECT_TRUE(find_matches(halves, rule, {}).empty());
    auto without = capped({8, 64});  // nobody asks for the sums
    without.outputs.erase(without.outputs.begin());
    EXPECT_TRUE(find_matches(without, rule, {}).empty());
}

// The first half along dimension 1, without those behind it.
Graph halved(std::int64_t rows, std::int64_t columns, std::int64_t end) {
    Graph g;
    const auto x = add_input(g, "x", dense(DType::f32, {rows, columns}));
    const auto half =
        add_node(g, "aten.slice.Tensor",
                 {{"self", x}, {"dim", std::int64_t{1}}, {"start", std::int64_t{0}}, {"end", end}},
                 dense(DType::f32, {rows, end}));
    add_output(g,
               add_node(g, "aten.exp.default", {{"self", half}}, dense(DType::f32, {rows, end})));
    return g;
}

TEST(LearnedRule, ExtentsThatOperatorsSayMayBeOthers) {
    const auto g = halved(8, 64, 32);
    const auto set = node_set(g, {"n0", "n1"});
    Diagnostics diagnostics;
    const auto authored = author(g, *set,
                                 "kernel half(x: f32[M, 2*32]) -> (n1: f32[M, 32]) {\n"
                                 "  n1 = exp(take(x.view(M, 2, 32), over: 2, at: 0))\n}\n",
                                 {}, diagnostics);
    ASSERT_TRUE(authored) << authored.error().text() << render_all(diagnostics, "t", "");
    const auto rule = rule_of(g, *set, authored->pattern, "a test");
    EXPECT_NE(rule.text.find("(x: f32[M, 2*P]) -> (n1: f32[M, P])"), rule.text.npos) << rule.text;
    EXPECT_EQ(find_matches(halved(10, 48, 24), rule, {}).size(), 1u);
    EXPECT_TRUE(find_matches(halved(10, 48, 16), rule, {}).empty());  // a third
}

TEST(LearnedRule, AnotherTextUnderItsNameIsRefused) {
    LearnedRule rule = learned();
    rule.text += "\n# changed";
    const auto read = rule_from_json(to_json(rule));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find(rule.name), std::string::npos);
}

TEST(LearnedRule, DoesNotSayWhereItsAuthorsFilesLie) {
    for (const auto& node : learned().original.nodes) EXPECT_EQ(node.where, graph::Provenance{});
}

TEST(LearnedRule, IsReadAsItWasWritten) {
    const auto rule = learned();
    const auto again = rule_from_json(to_json(rule));
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(to_json(*again), to_json(rule));
    EXPECT_EQ(again->name.substr(0, 4), "cap_");
    EXPECT_EQ(find_matches(capped({8, 64}), *again, {}).size(), 1u);
    for (const std::string& text :
         {std::string(), std::string("[]"), std::string("{\"format\": 2}"),
          to_json(rule).replace(to_json(rule).find("\"params\""), 8, "\"param\"")})
        EXPECT_FALSE(rule_from_json(text)) << text.substr(0, 50);
}

}  // namespace
}  // namespace fact::agent
