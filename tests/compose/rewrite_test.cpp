#include "compose/rewrite.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::compose {
namespace {

TEST(Rewrite, AChainBecomesOneCall) {
    const auto g = make_graph({"x", "w"}, {{"a", "x", "w"}, {"b", "a"}, {"c", "b"}}, {"c"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x", "w"}, {"b"});
    const auto out = rewrite(g, {&p});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(spell(*out),
              "b = call p0(x, w)\n"
              "c = c(b)\n");
    EXPECT_EQ(out->values.size(), 4u) << "the value inside the pattern goes";
    EXPECT_EQ(graph::verify(*out), "");
    const auto* id = graph::find_argument(out->nodes[0], "call");
    ASSERT_NE(id, nullptr);
    EXPECT_EQ(std::get<std::string>(*id), "p0");
}

TEST(Rewrite, ACallWaitsForInputsMadeBetweenItsNodes) {
    // `r` is made after the pattern's first node and read by its last.
    const auto g = make_graph({"x"}, {{"a", "x"}, {"r", "x"}, {"b", "a", "r"}}, {"b"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x", "r"}, {"b"});
    const auto out = rewrite(g, {&p});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(spell(*out), "r = r(x)\nb = call p0(x, r)\n");
}

TEST(Rewrite, UsersBetweenAPatternsNodesMoveBehindTheCall) {
    // `u` reads the pattern's first output, and stands before its last node.
    const auto g = make_graph({"x"}, {{"a", "x"}, {"u", "a"}, {"b", "a"}}, {"u", "b"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x"}, {"a", "b"});
    const auto out = rewrite(g, {&p});
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(spell(*out), "a b = call p0(x)\nu = u(a)\n");
}

TEST(Rewrite, PatternsThatWaitForEachOtherAreRefused) {
    const auto g = make_graph({"x"}, {{"a", "x"}, {"b", "x"}, {"c", "b"}, {"d", "a"}}, {"c", "d"});
    // p0 needs p1's a, p1 needs p0's b.
    const auto p0 = make_pattern("p0", {"b", "d"}, {"x", "a"}, {"b", "d"});
    const auto p1 = make_pattern("p1", {"a", "c"}, {"x", "b"}, {"a", "c"});
    EXPECT_TRUE(rewrite(g, {&p0}));
    EXPECT_TRUE(rewrite(g, {&p1}));
    const auto both = rewrite(g, {&p0, &p1});
    ASSERT_FALSE(both);
    EXPECT_NE(both.error().message.find("cannot all be fused"), std::string::npos);
}

TEST(Rewrite, OverlapsAndStrangersAreRefused) {
    const auto g = make_graph({"x"}, {{"a", "x"}, {"b", "a"}}, {"b"});
    const auto p0 = make_pattern("p0", {"a", "b"}, {"x"}, {"b"});
    const auto p1 = make_pattern("p1", {"b"}, {"a"}, {"b"});
    const auto overlap = rewrite(g, {&p0, &p1});
    ASSERT_FALSE(overlap);
    EXPECT_EQ(overlap.error().message, "patterns p0 and p1 both take node b");
    const auto stranger = make_pattern("p2", {"zz"}, {"x"}, {"b"});
    const auto unknown = rewrite(g, {&stranger});
    ASSERT_FALSE(unknown);
    EXPECT_NE(unknown.error().message.find("node zz"), std::string::npos);
}

TEST(Rewrite, AValueThatIsReadElsewhereMustBeHandedOut) {
    const auto g = make_graph({"x"}, {{"a", "x"}, {"b", "a"}, {"u", "a"}}, {"b", "u"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x"}, {"b"});  // forgets a
    EXPECT_FALSE(rewrite(g, {&p}));
}

TEST(Rewrite, AGraphOutputThatIsNotHandedOutIsRefused) {
    const auto g = make_graph({"x"}, {{"a", "x"}, {"b", "a"}}, {"a", "b"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x"}, {"b"});
    EXPECT_FALSE(rewrite(g, {&p}));
}

// `m` makes a constant that both calls know by themselves.
TEST(Rewrite, WhatCallsComputeForThemselvesGoesWithItsLastReader) {
    const auto g = make_graph({"x", "c"}, {{"m", "c"}, {"a", "x", "m"}, {"b", "a", "m"}}, {"b"});
    auto p0 = make_pattern("p0", {"a"}, {"x", "c"}, {"a"});
    auto p1 = make_pattern("p1", {"b"}, {"a", "c"}, {"b"});
    p0.copied = p1.copied = {"m"};
    const auto one = rewrite(g, {&p0});
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(spell(*one), "m = m(c)\na = call p0(x, c)\nb = b(a, m)\n");
    const auto both = rewrite(g, {&p0, &p1});
    ASSERT_TRUE(both) << both.error().text();
    EXPECT_EQ(spell(*both), "a = call p0(x, c)\nb = call p1(a, c)\n");
    const auto call = make_call(g, p1);
    ASSERT_TRUE(call) << call.error().text();
    EXPECT_EQ(spell(call->original), "m = m(c)\nb = b(a, m)\n");
    const auto back = graph::fused_call_from_json(graph::to_json(*call));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->copied, (std::vector<std::string>{"m"}));
}

TEST(MakeCall, KeepsTheOriginal) {
    const auto g = make_graph({"x", "w"}, {{"a", "x", "w"}, {"b", "a"}, {"c", "b"}}, {"c"});
    const auto p = make_pattern("p0", {"a", "b"}, {"x", "w"}, {"b"});
    const auto call = make_call(g, p);
    ASSERT_TRUE(call) << call.error().text();
    EXPECT_EQ(call->kernel, "family_p0");
    EXPECT_EQ(spell(call->original), "a = a(x, w)\nb = b(a)\n");
    EXPECT_EQ(call->original.inputs.size(), 2u);
    EXPECT_EQ(call->original.outputs.size(), 1u);
}

}  // namespace
}  // namespace fact::compose
