// Places of extremes, and losses whose target is the number of a class: what is written for them.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::reason_for;
using testing::Sizes;

struct PlacesNet : Net {
    PlacesNet() { dtype = DType::f32; }
    // The same with 64-bit integers as the result.
    graph::ValueId integers(graph::ValueId value) {
        graph[value].type->dtype = DType::i64;
        return value;
    }
    graph::ValueId place(const std::string& target, graph::ValueId x, std::int64_t dim,
                         const Sizes& sizes) {
        return integers(op("at", target, {{"self", x}, {"dim", dim}}, sizes));
    }
};

TEST(Places, TheLeastPlaceOfTheLargest) {
    PlacesNet net;
    net.output(net.place("argmax.default", net.input("x", {4, 64, 48}), 1, {4, 48}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_argmax"});
    EXPECT_EQ(body(found.patterns[0]),
              "  y = min(where(x == max(x, over: M) or x != x, index(M), extent(M)), over: M)\n");
    EXPECT_NE(found.patterns[0].kernel.find("(y: i64[B1, N])"), std::string::npos);
}

TEST(Places, AmongAllElements) {
    PlacesNet net;
    const auto x = net.input("x", {64, 48});
    net.output(net.integers(net.op("at", "argmin.default", {{"self", x}}, {})));
    net.output(net.op("sum", "sum.dim_IntList", {{"self", x}, {"dim", Sizes{1}}}, {64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_NE(body(found.patterns[0]).find("index(M) * extent(N) + index(N)"), std::string::npos)
        << found.patterns[0].kernel;
}

TEST(Places, NotWhereElementsLieInAnotherOrder) {
    PlacesNet net;
    const auto x = net.input("x", {64, 48}, {1, 64});
    net.output(net.integers(net.op("at", "argmin.default", {{"self", x}}, {})));
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "at"), "at counts along dimensions that lie in another order");
}

TEST(Places, NotAmongOneElement) {
    PlacesNet net;
    net.output(net.place("argmax.default", net.input("x", {64, 1}), 1, {64}));
    EXPECT_EQ(reason_for(net.discover(), "at"), "it looks for a place among one element");
}

// Two values that differ in the last bit may be the largest in torch and here.
TEST(Places, OnlyInWhatIsReadFromMemory) {
    PlacesNet net;
    const auto x = net.input("x", {64, 48});
    const auto y = net.pointwise("y", "tanh.default", net.pointwise("e", "exp.default", x));
    net.output(net.place("argmax.default", y, 1, {64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 2u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"e", "y"}));
    EXPECT_EQ(found.patterns[1].nodes, Names{"at"});
}

TEST(Places, ACopyToAWiderTypeChangesNoNumber) {
    PlacesNet net;
    net.dtype = DType::bf16;
    const auto x = net.input("x", {64, 48});
    net.dtype = DType::f32;
    const auto wide = net.pointwise("wide", "_to_copy.default", x);
    net.output(net.place("argmax.default", wide, 1, {64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"wide", "at"}));
}

TEST(Places, ScoreOfTheTargetsClass) {
    PlacesNet net;
    const auto x = net.input("x", {8, 40, 6}), target = net.integers(net.input("t", {8, 6}));
    net.output(net.op("loss", "cross_entropy_loss.default",
                      {{"self", x}, {"target", target}, {"ignore_index", std::int64_t{2}}}, {}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_cross_entropy"});
    EXPECT_EQ(body(found.patterns[0]),
              "  t1        = x - max(x, over: M)\n"
              "  t2        = max(where(index(M) == target, t1, -inf), over: M)\n"
              "  t3        = target != 2\n"
              "  stored t4 = where(t3, log(sum(exp(t1), over: M)) - t2, 0.0)\n"
              "  y         = sum(t4, over: [B1, N]) / sum(t3, over: [B1, N])\n");
}

TEST(Places, SharesAndWeightsOfClassesAreLeftAlone) {
    PlacesNet net;
    const auto x = net.input("x", {8, 40}), shares = net.input("shares", {8, 40});
    const auto target = net.integers(net.input("t", {8}));
    net.output(net.op("soft", "cross_entropy_loss.default", {{"self", x}, {"target", shares}}, {}));
    net.output(net.op("weighted", "nll_loss_nd.default",
                      {{"self", x}, {"target", target}, {"weight", net.weight("w", {40})}}, {}));
    const auto found = net.discover();
    EXPECT_TRUE(found.patterns.empty());
    EXPECT_EQ(reason_for(found, "soft"),
              "its target has a share for each class, not the number of one");
    EXPECT_EQ(reason_for(found, "weighted"), "its losses are weighted");
}

TEST(Places, DistancesOfVectors) {
    PlacesNet net;
    const auto a = net.input("a", {64, 48}), b = net.input("b", {64, 48});
    net.output(net.op("loss", "triplet_margin_loss.default",
                      {{"anchor", a},
                       {"positive", b},
                       {"negative", net.input("c", {64, 48})},
                       {"reduction", std::int64_t{0}}},
                      {64}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_triplet_loss"});
    EXPECT_EQ(body(found.patterns[0]),
              "  t1 = x - positive + 1e-06\n"
              "  t2 = x - negative + 1e-06\n"
              "  t3 = sqrt(sum(t1 * t1, over: N)) - sqrt(sum(t2 * t2, over: N)) + 1.0\n"
              "  y  = max(t3, 0.0)\n");
}

// Losses that are not reduced are computed with what comes next.
TEST(Places, LossesOfEachElement) {
    PlacesNet net;
    const auto a = net.input("a", {64, 48}), b = net.input("b", {64, 48});
    const auto losses =
        net.op("losses", "mse_loss.default",
               {{"self", a}, {"target", b}, {"reduction", std::int64_t{0}}}, {64, 48});
    net.output(net.op("y", "sum.dim_IntList", {{"self", losses}, {"dim", Sizes{1}}}, {64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(body(found.patterns[0]),
              "  t1 = x - target\n"
              "  y  = sum(t1 * t1, over: N)\n");
}

// The batch's statistics update buffers outside the kernel.
TEST(Places, StatisticsAreResultsBesideTheNorm) {
    PlacesNet net;
    const auto x = net.input("x", {8, 16, 36});
    const auto norm = net.op("norm", "_native_batch_norm_legit.no_stats",
                             {{"input", x},
                              {"weight", graph::None{}},
                              {"bias", graph::None{}},
                              {"training", true},
                              {"momentum", 0.1},
                              {"eps", 1e-5}},
                             {8, 16, 36});
    net.output(net.pointwise("seen", "logcumsumexp.default", net.also(norm, "mean", {16})));
    net.also(norm, "inverse", {16});
    net.output(norm);
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].outputs, (Names{"norm", "mean"}));
}

}  // namespace
}  // namespace fact::match
