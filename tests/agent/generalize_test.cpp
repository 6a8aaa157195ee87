#include "agent/generalize.h"

#include <gtest/gtest.h>

#include "../verify/small_graphs.h"

namespace fact::agent {
namespace {

// A group norm of 32 groups.
graph::Graph group_norm() {
    graph::Graph g;
    const auto type = verify::dense(DType::f32, {4, 256, 6});
    const auto x = verify::add_input(g, "x", type);
    verify::add_output(g, verify::add_node(g, "aten.group_norm.default",
                                           {{"input", x}, {"num_groups", std::int64_t{32}}}, type));
    return g;
}

std::string with_dims(const std::string& channels, const std::string& groups,
                      const std::string& of_each, const std::string& pixels) {
    return "kernel f(t: f32[B, 2*" + channels + "], x: f32[B, " + channels + ", " + pixels +
           "]) -> (y: f32[B, " + channels + ", " + pixels + "]) {\n  n = group_norm(x.view(B, " +
           groups + ", " + of_each + ", " + pixels + "), over: [" + of_each + ", " + pixels +
           "], eps: 8.0)  # 8 of 1024\n  y = n.view(B, " + channels + ", " + pixels + ")\n}\n";
}

const auto kFits = [](const std::string&) { return true; };

TEST(Generalize, NumbersBecomeSymbolsAndWhatOperatorsFixBecomesANumber) {
    const auto text = with_dims("G*8", "G", "8", "1024");
    EXPECT_EQ(generalize(text, group_norm(), {{"B", 4}, {"G", 32}}, kFits),
              with_dims("32*Q", "32", "Q", "P"));
}

TEST(Generalize, ASymbolThatHappensToEqualAFixedNumberStays) {
    const auto text = with_dims("32*C", "32", "C", "N");
    EXPECT_EQ(generalize(text, group_norm(), {{"B", 32}, {"C", 8}, {"N", 32}}, kFits), text);
}

TEST(Generalize, WhatNoLongerFitsIsTakenBack) {
    const auto text = with_dims("256", "32", "8", "1024");
    const auto fits = [](const std::string& other) { return other.find("256") != other.npos; };
    EXPECT_EQ(generalize(text, group_norm(), {{"B", 4}}, fits), with_dims("256", "32", "8", "P"));
}

}  // namespace
}  // namespace fact::agent
