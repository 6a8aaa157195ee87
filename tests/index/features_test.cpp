#include "index/features.h"

#include "../graph/graph_builder.h"
#include "index/graph_features.h"
#include "texts.h"

namespace fact::index {
namespace {

using graph::testing::GraphBuilder;
using graph::testing::tensor;

TEST(Features, CountWhatATextComputes) {
    const auto gated =
        of("kernel f(x: bf16[M, K], a: bf16[N, K], b: bf16[N, K]) -> (y: bf16[M, N]) {\n"
           "  y = silu(x @ a.T) * (x @ b.T)\n}\n");
    EXPECT_EQ(gated.count("@"), 2);
    EXPECT_EQ(gated.count("silu"), 1);
    EXPECT_EQ(gated.count("activation"), 1);
    EXPECT_EQ(gated.count("*"), 1);
    EXPECT_EQ(gated.types, std::set<std::string>{"bf16"});
    EXPECT_EQ(in_words(gated), "2 x product, silu (bf16)");
}

TEST(Features, KnowNormsAndSoftmaxByWhatTheyAreMadeOf) {
    const auto norm = of(rows_text("layer_norm(x, over: N)"));
    EXPECT_EQ(norm.count("norm"), 1);
    EXPECT_EQ(norm.count("softmax"), 0);
    const auto softmax = of(rows_text("softmax(x, over: N)"));
    EXPECT_EQ(softmax.count("softmax"), 1);
    EXPECT_EQ(softmax.count("norm"), 0);
    EXPECT_EQ(of(rows_text("rsqrt(exp(x))")).count("norm"), 0);
    EXPECT_EQ(of(linear_text("layer_norm(acc, over: N)")).count("norm after"), 1);
    EXPECT_EQ(norm.count("norm after"), 0);
}

TEST(Features, OfAttentionWrittenOutAndInOneWord) {
    const std::string head =
        "kernel f(q: bf16[B, M, D], k: bf16[B, N, D], v: bf16[B, N, D]) -> (y: bf16[B, M, D]) {\n";
    const auto word = of(head + "  y = attention(q, k, v, mask: causal, scale: 0.125)\n}\n");
    EXPECT_EQ(word.count("attention"), 1);
    EXPECT_EQ(word.count("causal"), 1);
    const auto written = of(head + "  y = bf16(softmax(q @ k.T, over: N)) @ v\n}\n");
    EXPECT_EQ(written.count("attention"), 1);
    EXPECT_EQ(in_words(written), "attention (bf16)");
    const auto masked = of(
        head + "  y = bf16(softmax(where(index(N) < index(M), q @ k.T, 0.0), over: N)) @ v\n}\n");
    EXPECT_EQ(masked.count("bias"), 1);
    EXPECT_EQ(masked.count("@"), 0);
}

TEST(Features, SizesAreThoseOfTheLargestProduct) {
    const auto text = linear_text("acc");
    EXPECT_EQ(of(text, {{"M", 64}, {"N", 32}, {"K", 16}}).sizes, (Sizes{64, 32, 16, 1}));
    EXPECT_EQ(of(text, {{"M", 64}, {"Z", 3}}).sizes.k, std::nullopt);
    // Batches that share one weight are rows of one product.
    const auto batched =
        of("kernel f(x: bf16[B, M, K], w: bf16[N, K]) -> (y: bf16[B, M, N]) {\n  y = x @ w.T\n}\n",
           {{"B", 4}, {"M", 64}, {"N", 32}, {"K", 16}});
    EXPECT_EQ(batched.sizes, (Sizes{256, 32, 16, 1}));
    EXPECT_EQ(of(rows_text("exp(x)"), {{"M", 8}, {"N", 5}}).sizes.n, 5);
}

TEST(Features, OfOperatorsAreThoseOfTheTextThatComputesThem) {
    GraphBuilder c;
    const auto type = [](graph::testing::Sizes sizes) { return tensor(sizes, DType::bf16); };
    const auto x = c.input("x", type({4, 8, 16})), w = c.input("w", type({32, 16})),
               b = c.input("b", type({32}));
    const auto h = c.node("h", "aten.linear.default", {{"input", x}, {"weight", w}, {"bias", b}},
                          type({4, 8, 32}));
    const auto g = c.node("g", "aten.gelu.default",
                          {{"self", h}, {"approximate", std::string("tanh")}}, type({4, 8, 32}));
    c.node("s", "aten.softmax.int", {{"self", g}, {"dim", std::int64_t{-1}}}, type({4, 8, 32}));
    const auto found =
        graph_features(c.graph, {graph::NodeId{0}, graph::NodeId{1}, graph::NodeId{2}});
    const auto written =
        of("kernel f(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {\n"
           "  y = softmax(gelu_tanh(x @ w.T + b), over: N)\n}\n",
           {{"M", 32}, {"N", 32}, {"K", 16}});
    EXPECT_EQ(found, written) << structure(found) << "\n" << structure(written);
}

TEST(Features, AnOperatorThatNoTextHasCountsByItsName) {
    GraphBuilder c;
    const auto x = c.input("x", tensor({4, 8}));
    c.node("y", "aten.cumsum.default", {{"self", x}, {"dim", std::int64_t{1}}}, tensor({4, 8}));
    EXPECT_EQ(graph_features(c.graph, {graph::NodeId{0}}).count("cumsum"), 1);
}

TEST(Distance, KindsWeighMoreThanFunctionsAndThoseMoreThanSizes) {
    const Extents sizes{{"M", 1024}, {"N", 1024}, {"K", 1024}};
    const auto gelu = of(linear_text("gelu(acc)"), sizes);
    EXPECT_EQ(distance(gelu, gelu), 0);
    auto larger = sizes;
    larger["M"] = 8192;
    const double by_size = distance(gelu, of(linear_text("gelu(acc)"), larger));
    const double by_function = distance(gelu, of(linear_text("silu(acc)"), sizes));
    const double by_lack = distance(gelu, of(linear_text("acc"), sizes));
    const double by_type = distance(gelu, of(linear_text("gelu(acc)", "f32"), sizes));
    const double by_kind = distance(gelu, of(rows_text("gelu(x)")));
    EXPECT_GT(by_size, 0);
    EXPECT_LT(by_size, by_lack);
    EXPECT_LT(by_lack, by_kind);
    EXPECT_LT(by_function, by_kind);
    EXPECT_GT(by_type, distance(gelu, of(linear_text("gelu(acc)", "f16"), sizes)));
    EXPECT_EQ(by_function, distance(of(linear_text("silu(acc)"), sizes), gelu));
}

TEST(Distance, UnknownSizesDoNotCount) {
    const auto text = linear_text("acc");
    EXPECT_EQ(distance(of(text), of(text, {{"M", 4}, {"N", 4}, {"K", 4}})), 0);
}

}  // namespace
}  // namespace fact::index
