// Regions that look along rows: what is written for reductions, norms, windows and triangles.
#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using graph::None;
using testing::Net;
using Ints = std::vector<std::int64_t>;
using testing::Names;

struct RowwiseNet : Net {
    RowwiseNet() { dtype = DType::f32; }
    graph::ValueId x = (dtype = DType::f32, input("x", {64, 48})), w = weight("w", {96, 48});
    graph::ValueId y = linear("y", x, w);
};

// The lines between the braces.
std::string rowwise_body(const Pattern& pattern) {
    const auto begin = pattern.kernel.find("{\n") + 2;
    return pattern.kernel.substr(begin, pattern.kernel.rfind('}') - begin);
}

TEST(Rowwise, MeanThatIsKeptMeetsTheRowAgain) {
    RowwiseNet net;
    const auto mean =
        net.op("mean", "mean.dim", {{"self", net.y}, {"dim", Ints{1}}, {"keepdim", true}}, {64, 1});
    net.output(net.pointwise("z", "sub.Tensor", net.y, mean));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 2u);
    EXPECT_EQ(found.patterns[0].nodes, (Names{"y", "mean", "z"}));
    EXPECT_EQ(rowwise_body(found.patterns[0]),
              "  acc = x @ w.T\n"
              "  y   = acc - sum(acc, over: N) / extent(N)\n");
    EXPECT_EQ(found.patterns[1].nodes, Names{"y"});  // measuring decides between them
}

TEST(Rowwise, ReducedColumnsMeetAnotherDimension) {
    RowwiseNet net;
    const auto top = net.op("top", "amax.default",
                            {{"self", net.y}, {"dim", Ints{1}}, {"keepdim", true}}, {64, 1});
    const auto other = net.input("other", {64, 32});
    net.output(net.op("z", "mul.Tensor", {{"self", top}, {"other", other}}, {64, 32}));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(rowwise_body(found.patterns[0]),
              "  acc = x @ w.T\n"
              "  y   = max(acc, over: N) * scale\n");
    EXPECT_EQ(found.patterns[0].extents.at("S"), 32);
}

TEST(Rowwise, GroupsTakeTheColumnsApart) {
    RowwiseNet net;
    const auto scale = net.weight("scale", {96});
    net.output(net.op("z", "group_norm.default",
                      {{"input", net.y},
                       {"num_groups", std::int64_t{6}},
                       {"weight", scale},
                       {"bias", None{}},
                       {"eps", 1e-5}},
                      {64, 96}));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].kernel,
              "kernel linear_group_norm(x: f32[M, K], w: f32[G*16, K], weight: f32[G*16]) -> "
              "(y: f32[M, G*16]) {\n"
              "  acc = x @ w.T\n"
              "  t1  = acc.view(M, G, 16)\n"
              "  t2  = t1 - sum(t1, over: 16) / extent(16)\n"
              "  t3  = (t2 * rsqrt(sum(t2 * t2, over: 16) / extent(16) + 1e-05)).view(M, G*16)\n"
              "  y   = t3 * weight\n"
              "}\n");
}

TEST(Rowwise, StatisticsOthersReadBecomeResults) {
    RowwiseNet net;
    const auto norm = net.op("norm", "_native_batch_norm_legit.no_stats",
                             {{"input", net.y},
                              {"weight", None{}},
                              {"bias", None{}},
                              {"training", true},
                              {"momentum", 0.1},
                              {"eps", 1e-5}},
                             {64, 96});
    const auto mean = net.also(norm, "mean", {96});
    net.also(norm, "inverse", {96});
    net.output(norm);
    net.output(net.pointwise("update", "logcumsumexp.default", mean));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].outputs, (Names{"norm", "mean"}));
    EXPECT_EQ(rowwise_body(found.patterns[0]),
              "  acc = x @ w.T\n"
              "  y2  = sum(acc, over: M) / extent(M)\n"
              "  t1  = acc - y2\n"
              "  y   = t1 * rsqrt(sum(t1 * t1, over: M) / extent(M) + 1e-05)\n");
}

// The row of a triangle is counted within a matrix, not across the batch that merges with it.
TEST(Rowwise, TriangleCountsWithinItsMatrix) {
    Net net;
    const auto x = net.input("x", {4, 64, 48});
    const auto y = net.linear("y", x, net.weight("w", {96, 48}));
    net.output(net.pointwise("z", "tril.default", y));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_NE(found.patterns[0].kernel.find("x: bf16[P*64, K]"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_NE(found.patterns[0].kernel.find("where(index(N) <= index(64), "), std::string::npos)
        << found.patterns[0].kernel;
}

TEST(Rowwise, WindowsMayOverlap) {
    RowwiseNet net;
    const auto row = net.op("row", "unsqueeze.default", {{"self", net.y}, {"dim", std::int64_t{1}}},
                            {64, 1, 96});
    net.output(net.op("z", "avg_pool1d.default",
                      {{"self", row}, {"kernel_size", Ints{4}}, {"stride", Ints{2}}}, {64, 1, 47}));
    std::string texts;
    for (const Pattern& pattern : net.discover().patterns) texts += pattern.kernel;
    EXPECT_NE(texts.find(".window(H: P by R stride 2)"), std::string::npos) << texts;
}

// A product is not rounded as torch's, so its largest element may be another one.
TEST(Rowwise, PlacesAreNotFoundInAProduct) {
    RowwiseNet net;
    const auto top = net.op("top", "max.dim", {{"self", net.y}, {"dim", std::int64_t{1}}}, {64});
    const auto where = net.also(top, "where", {64});
    net.graph[where].type->dtype = DType::i64;
    net.output(top);
    net.output(where);
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 2u);
    EXPECT_EQ(found.patterns[0].nodes, Names{"y"});
    EXPECT_EQ(found.patterns[1].nodes, Names{"top"});
    EXPECT_EQ(found.patterns[1].outputs, (Names{"top", "where"}));
}

TEST(Rowwise, EinsumIsAProductInAnyOrder) {
    Net net;
    const auto a = net.input("a", {8, 16, 32}), b = net.input("b", {64, 32});
    net.output(net.op(
        "y", "einsum.default",
        {{"equation", std::string("bij,kj->bik")}, {"tensors", std::vector<graph::ValueId>{a, b}}},
        {8, 16, 64}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].kernel,
              "kernel plain_matmul(a: bf16[M, K], b: bf16[N, K]) -> (y: bf16[M, N]) {\n"
              "  acc = a @ b.T\n"
              "  y   = acc\n"
              "}\n");
}

TEST(Rowwise, AttentionReadsPackedHeadsAsTheyLie) {
    Net net;
    std::vector<graph::ValueId> heads;
    for (const char* name : {"q", "k", "v"}) {
        const auto lying = net.input(name, {2, 64, 4, 32});
        heads.push_back(net.permute(std::string(name) + "t", lying, {0, 2, 1, 3}));
    }
    net.output(
        net.op("o", "scaled_dot_product_attention.default",
               {{"query", heads[0]}, {"key", heads[1]}, {"value", heads[2]}, {"is_causal", true}},
               {2, 4, 64, 32}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].rule, "attention");
    EXPECT_EQ(found.patterns[0].nodes, (Names{"qt", "kt", "vt", "o"}));
    EXPECT_NE(found.patterns[0].kernel.find("q: bf16[B, M, H, D]"), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_NE(found.patterns[0].kernel.find("mask: causal"), std::string::npos);
}

}  // namespace
}  // namespace fact::match
