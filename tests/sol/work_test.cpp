// Flops and least bytes of single operators, counted by hand.
#include "sol/work.h"

#include <gtest/gtest.h>

#include "../graph/graph_builder.h"

namespace fact::sol {
namespace {

using graph::ValueId;
using graph::testing::GraphBuilder;
using graph::testing::Sizes;
using graph::testing::tensor;

graph::TensorType bf16(Sizes sizes) {
    return tensor(std::move(sizes), DType::bf16);
}

struct Counted {
    double flops, bytes;
    bool operator==(const Counted&) const = default;
};
void PrintTo(const Counted& counted, std::ostream* out) {
    *out << counted.flops << " flops, " << counted.bytes << " bytes";
}

struct Case : GraphBuilder {
    NodeWork last() const { return work_of(graph, graph.nodes.back()); }
    Counted counted() const { return {last().flops, last().bytes()}; }
};

TEST(Work, LinearReadsWeightAndBiasOnce) {
    Case c;
    const auto x = c.input("x", bf16({4, 8, 16})), w = c.input("w", bf16({32, 16})),
               b = c.input("b", bf16({32}));
    c.node("y", "aten.linear.default", {{"input", x}, {"weight", w}, {"bias", b}},
           bf16({4, 8, 32}));
    // 32 rows by 32 columns, sums over 16; 512 + 512 + 32 + 1024 elements of two bytes.
    EXPECT_EQ(c.counted(), (Counted{2. * 32 * 32 * 16, 2. * (512 + 512 + 32 + 1024)}));
    EXPECT_EQ(c.last().product_operands, DType::bf16);
    EXPECT_EQ(c.last().kind, graph::OperatorKind::product);
}

TEST(Work, AddmmSumsOverItsSecondArgumentsColumns) {
    Case c;
    const auto b = c.input("b", tensor({6})), x = c.input("x", tensor({4, 5})),
               w = c.input("w", tensor({5, 6}));
    c.node("y", "aten.addmm.default", {{"self", b}, {"mat1", x}, {"mat2", w}}, tensor({4, 6}));
    EXPECT_EQ(c.counted(), (Counted{2 * 4 * 6 * 5, 4 * (6 + 20 + 30 + 24)}));
}

TEST(Work, BatchedProductOfABroadcastOperand) {
    Case c;
    const auto a = c.input("a", tensor({3, 4, 5})), b = c.input("b", tensor({3, 5, 6}, {0, 6, 1}));
    c.node("y", "aten.bmm.default", {{"self", a}, {"mat2", b}}, tensor({3, 4, 6}));
    EXPECT_EQ(c.counted(), (Counted{2 * 3 * 4 * 6 * 5, 4 * (60 + 30 + 72)}));
}

TEST(Work, ASquareReadsItsOperandOnce) {
    Case c;
    const auto a = c.input("a", tensor({8, 8}));
    c.node("y", "aten.mm.default", {{"self", a}, {"mat2", a}}, tensor({8, 8}));
    EXPECT_EQ(c.counted(), (Counted{2 * 8 * 8 * 8, 4 * (64 + 64)}));
}

TEST(Work, Einsum) {
    Case c;
    const auto a = c.input("a", tensor({2, 3, 4})), b = c.input("b", tensor({4, 5}));
    const std::vector<ValueId> operands{a, b};
    c.node("y", "aten.einsum.default",
           {{"equation", std::string("bij,jk->bik")}, {"tensors", operands}}, tensor({2, 3, 5}));
    EXPECT_EQ(c.counted(), (Counted{2 * 2 * 3 * 4 * 5, 4 * (24 + 20 + 30)}));
}

TEST(Work, EinsumOfThreeIsCountedByBytes) {
    Case c;
    const auto a = c.input("a", tensor({2, 3}));
    const std::vector<ValueId> operands{a, a, a};
    c.node("y", "aten.einsum.default",
           {{"equation", std::string("ij,ij,ij->ij")}, {"tensors", operands}}, tensor({2, 3}));
    EXPECT_TRUE(c.last().only_bytes);
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (6 + 6)}));
}

TEST(Work, Convolution) {
    Case c;
    const auto x = c.input("x", tensor({2, 8, 10, 10})), w = c.input("w", tensor({16, 4, 3, 3}));
    c.node("y", "aten.conv2d.default", {{"input", x}, {"weight", w}, {"groups", std::int64_t{2}}},
           tensor({2, 16, 8, 8}));
    // Each of 2048 results sums 4 channels of 3x3.
    EXPECT_EQ(c.counted(), (Counted{2. * 2048 * 36, 4. * (1600 + 576 + 2048)}));
}

TEST(Work, TransposedConvolutionSpreadsItsInput) {
    Case c;
    const auto x = c.input("x", tensor({1, 4, 5})), w = c.input("w", tensor({4, 6, 3}));
    c.node("y", "aten.conv_transpose1d.default", {{"input", x}, {"weight", w}}, tensor({1, 6, 7}));
    EXPECT_EQ(c.last().flops, 2 * 20 * 18);
}

TEST(Work, CausalAttentionCountsWhatIsSeen) {
    Case c;
    const auto q = c.input("q", bf16({1, 2, 4, 8})), k = c.input("k", bf16({1, 2, 16, 8})),
               v = c.input("v", bf16({1, 2, 16, 8}));
    c.node("y", "aten.scaled_dot_product_attention.default",
           {{"query", q}, {"key", k}, {"value", v}, {"is_causal", true}}, bf16({1, 2, 4, 8}));
    // Rows see 1, 2, 3 and 4 keys: 10 of two heads, 8 + 8 features; a quarter of k and v is read.
    EXPECT_EQ(c.counted(), (Counted{2 * 2 * 10 * 16, 2 * (64 + 64 + 64 + 64)}));
    c.node("z", "aten.scaled_dot_product_attention.default",
           {{"query", q}, {"key", k}, {"value", v}}, bf16({1, 2, 4, 8}));
    EXPECT_EQ(c.counted(), (Counted{2 * 2 * 64 * 16, 2 * (64 + 256 + 256 + 64)}));
}

TEST(Work, AWindowCountsWhatIsSeen) {
    for (const int rows : {1, 5, 12})
        for (const int columns : {1, 4, 12, 30})
            for (const int window : {1, 3, 12, 40})
                for (const bool causal : {false, true}) {
                    int seen = 0;
                    for (int i = 0; i < rows; ++i)
                        for (int j = 0; j < columns; ++j)
                            seen += std::abs(i - j) < window && (!causal || j <= i);
                    EXPECT_EQ(seen_scores(rows, columns, causal, window), seen)
                        << rows << " by " << columns << ", " << window << causal;
                }
    // Four rows look three keys ahead at the most: seven of sixteen are read.
    const auto own = attention_work(bf16({1, 4, 8}), bf16({1, 16, 8}), bf16({1, 16, 8}), false, 4);
    EXPECT_EQ(own.keys_read, 7. / 16);
    EXPECT_EQ(own.flops, 2. * (4 + 5 + 6 + 7) * 16);
}

TEST(Work, GroupedHeadsCountAsQueries) {
    const auto own =
        attention_work(bf16({2, 8, 4, 16}), bf16({2, 2, 4, 16}), bf16({2, 2, 4, 16}), false);
    EXPECT_EQ(own.flops, 2. * 16 * 16 * 32);
}

TEST(Work, PointwiseReadsBroadcastOperandsOnce) {
    Case c;
    const auto x = c.input("x", tensor({4, 8})), bias = c.input("bias", tensor({4, 8}, {0, 1}));
    c.node("y", "aten.add.Tensor", {{"self", x}, {"other", bias}}, tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{32, 4 * (32 + 8 + 32)}));
    c.node("z", "aten.mul.Tensor", {{"self", x}, {"other", x}}, tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{32, 4 * (32 + 32)}));
}

TEST(Work, ReductionsSoftmaxAndNorms) {
    Case c;
    const auto x = c.input("x", tensor({4, 8})), w = c.input("w", tensor({8}));
    c.node("s", "aten.sum.dim_IntList", {{"self", x}, {"dim", Sizes{1}}}, tensor({4}));
    EXPECT_EQ(c.counted(), (Counted{32, 4 * (32 + 4)}));
    c.node("p", "aten.softmax.int", {{"self", x}, {"dim", std::int64_t{1}}}, tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{5 * 32, 4 * (32 + 32)}));
    c.node("n", "aten.layer_norm.default",
           {{"input", x}, {"normalized_shape", Sizes{8}}, {"weight", w}, {"bias", w}},
           tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{7 * 32, 4 * (32 + 8 + 32)}));
}

TEST(Work, AnEmbeddingReadsTheRowsItGives) {
    Case c;
    auto ids = tensor({2, 3}, DType::i64);
    const auto table = c.input("table", tensor({50000, 16})), at = c.input("at", ids);
    c.node("y", "aten.embedding.default", {{"weight", table}, {"indices", at}}, tensor({2, 3, 16}));
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (96 + 96) + 8 * 6}));
}

TEST(Work, WritingIntoAPartMovesThePart) {
    Case c;
    const auto cache = c.input("cache", tensor({1024, 16})), row = c.input("row", tensor({2, 16}));
    c.node("y", "aten.slice_scatter.default", {{"self", cache}, {"src", row}}, tensor({1024, 16}));
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (32 + 32)}));
}

TEST(Work, ViewsMoveNothingUnlessTheyCopy) {
    Case c;
    const auto x = c.input("x", tensor({4, 8}));
    const auto t = c.node("t", "aten.permute.default", {{"self", x}, {"dims", Sizes{1, 0}}},
                          tensor({8, 4}, {1, 8}));
    EXPECT_EQ(c.last().kind, graph::OperatorKind::view);
    EXPECT_EQ(c.counted(), (Counted{0, 0}));
    c.node("r", "aten.reshape.default", {{"self", x}, {"shape", Sizes{2, 2, 8}}},
           tensor({2, 2, 8}));
    EXPECT_EQ(c.last().kind, graph::OperatorKind::view);
    c.node("f", "aten.reshape.default", {{"self", t}, {"shape", Sizes{32}}}, tensor({32}));
    EXPECT_EQ(c.last().kind, graph::OperatorKind::pointwise);
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (32 + 32)}));
    c.node("g", "aten.reshape.default", {{"self", t}, {"shape", Sizes{8, 2, 2}}},
           tensor({8, 2, 2}, {1, 16, 8}));
    EXPECT_EQ(c.last().kind, graph::OperatorKind::view);
    c.node("h", "aten.contiguous.default", {{"self", t}}, tensor({8, 4}));
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (32 + 32)}));
    c.node("i", "aten.to.dtype", {{"self", x}}, bf16({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{0, 4 * 32 + 2 * 32}));
}

TEST(Work, FillsOnlyWrite) {
    Case c;
    const auto x = c.input("x", tensor({4, 8}));
    c.node("y", "aten.zeros_like.default", {{"self", x}}, tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{0, 4 * 32}));
    c.node("z", "aten.empty_like.default", {{"self", x}}, tensor({4, 8}));
    EXPECT_EQ(c.counted(), (Counted{0, 0}));
}

TEST(Work, UnknownOperatorsAreCountedByBytesAndSaidToBe) {
    Case c;
    const auto x = c.input("x", tensor({4, 8}));
    c.node("y", "mylib.scan.default", {{"self", x}}, tensor({4, 8}));
    EXPECT_EQ(c.last().kind, graph::OperatorKind::unknown);
    EXPECT_TRUE(c.last().only_bytes);
    EXPECT_EQ(c.counted(), (Counted{0, 4 * (32 + 32)}));
}

TEST(Work, StoredBytes) {
    EXPECT_EQ(stored_bytes(tensor({4, 8})), 128);
    EXPECT_EQ(stored_bytes(tensor({4, 8}, {0, 1})), 32);
    EXPECT_EQ(stored_bytes(tensor({6, 3}, {1, 1})), 32) << "windows that overlap";
    EXPECT_EQ(stored_bytes(tensor({0, 3})), 0);
    EXPECT_EQ(stored_bytes(tensor({})), 4);
}

}  // namespace
}  // namespace fact::sol
