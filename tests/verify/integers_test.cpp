#include "verify/integers.h"

#include <gtest/gtest.h>

#include "small_graphs.h"

namespace fact::verify {
namespace {

const auto kIds = dense(DType::i64, {8, 16}), kNumbers = dense(DType::f32, {8, 16}),
           kFlags = dense(DType::boolean, {8, 16});

TEST(Integers, WhatIsComparedMayBeAnything) {
    graph::Graph g;
    const auto ids = add_input(g, "ids", kIds), other = add_input(g, "other", kIds);
    add_output(
        g, add_node(g, "aten.eq.Scalar", {{"self", ids}, {"other", std::int64_t{50256}}}, kFlags));
    add_output(g, add_node(g, "aten.lt.Tensor", {{"self", ids}, {"other", other}}, kFlags));
    for (const auto value : {ids, other}) {
        const auto use = integer_use(g, value);
        EXPECT_TRUE(use.any_value);
        EXPECT_FALSE(use.becomes_floating);
    }
    EXPECT_EQ(integer_use(g, ids).compared, std::vector<std::int64_t>{50256});
    EXPECT_TRUE(integer_use(g, other).compared.empty());
}

TEST(Integers, ViewsAreFollowedToWhatBecomesOfThem) {
    graph::Graph g;
    const auto ids = add_input(g, "ids", kIds), x = add_input(g, "x", kNumbers);
    const auto flat = add_node(g, "aten.view.default", {{"self", ids}}, dense(DType::i64, {128}));
    const auto back = add_node(g, "aten.view.default", {{"self", flat}}, kIds);
    add_output(g, add_node(g, "aten.mul.Tensor", {{"self", x}, {"other", back}}, kNumbers));
    const auto use = integer_use(g, ids);
    EXPECT_TRUE(use.any_value);
    EXPECT_TRUE(use.becomes_floating);
}

TEST(Integers, PlacesInATableStaySmall) {
    graph::Graph g;
    const auto ids = add_input(g, "ids", kIds), table = add_input(g, "table", kNumbers);
    const auto moved = add_node(g, "aten.unsqueeze.default", {{"self", ids}}, kIds);
    add_output(g, add_node(g, "aten.embedding.default", {{"weight", table}, {"indices", moved}},
                           kNumbers));
    add_output(g,
               add_node(g, "aten.ne.Scalar", {{"self", ids}, {"other", std::int64_t{0}}}, kFlags));
    EXPECT_FALSE(integer_use(g, ids).any_value);
}

TEST(Integers, NumbersOfClassesAreBelowTheirCount) {
    graph::Graph g;
    const auto ids = add_input(g, "ids", dense(DType::i64, {8}));
    const auto x = add_input(g, "x", kNumbers);
    const auto loss = [&](std::int64_t ignored) {
        add_output(g, add_node(g, "aten.cross_entropy_loss.default",
                               {{"self", x}, {"target", ids}, {"ignore_index", ignored}},
                               dense(DType::f32, {})));
    };
    loss(-100);
    const auto use = integer_use(g, ids);
    EXPECT_TRUE(use.any_value);
    EXPECT_EQ(use.classes, 16);
    EXPECT_EQ(use.ignored, -100);
    loss(3);  // for which -100 would be no class
    EXPECT_EQ(integer_use(g, ids).ignored, std::nullopt);
}

TEST(Integers, WhatIsHandedOutIsNotKnown) {
    graph::Graph g;
    const auto ids = add_input(g, "ids", kIds);
    add_output(g, add_node(g, "aten.view.default", {{"self", ids}}, kIds));
    EXPECT_FALSE(integer_use(g, ids).any_value);
}

}  // namespace
}  // namespace fact::verify
