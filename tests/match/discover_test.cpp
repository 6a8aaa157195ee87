// Real archives of torch.export (data/make.py): kernel texts as they must come out.
#include <gtest/gtest.h>

#include "dsl/dsl.h"
#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "graphs.h"
#include "match/patterns/printer.h"
#include "test_data.h"

namespace fact::match {
namespace {

graph::Graph read_graph(const std::string& name) {
    auto archive = graph::read_pt2(std::string(FACT_TEST_DATA) + "/data/" + name);
    if (!archive) throw std::runtime_error(archive.error().text());
    return graph::canonicalize(archive->graph);
}

Discovery discover_file(const std::string& name, const Options& options = {}) {
    return discover(read_graph(name), options);
}

const Pattern& find(const Discovery& discovery, const std::string& id) {
    for (const auto& pattern : discovery.patterns)
        if (pattern.id == id) return pattern;
    throw std::runtime_error("no pattern " + id + " in\n" + print(discovery));
}

using testing::Names;
using Dims = std::vector<std::vector<int>>;

// Attention that shows its softmax is several patterns.
class Block : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        found = new Discovery(
            discover(testing::shown(read_graph("block.pt2"), "aten.softmax.int"), {}));
    }
    static void TearDownTestSuite() { delete found; }
    static const Discovery* found;
};
const Discovery* Block::found = nullptr;

// Of the scores there are two: with the softmax and without it; and of what follows a norm, alone
// and with it. Norms are numbered apart.
TEST_F(Block, HasSixProductsInGraphOrder) {
    Names ids;
    for (const auto& pattern : found->patterns)
        if (pattern.rule != "norm") ids.push_back(pattern.id);
    EXPECT_EQ(ids,
              (Names{"p00_linear_bias", "p00b_layer_norm_linear_bias",
                     "p01_matmul_scale_mask_softmax", "p01b_matmul_scale_mask",
                     "p02_matmul_permuted", "p03_linear_bias_residual", "p04_linear_bias_gelu_tanh",
                     "p04b_layer_norm_linear_bias_gelu_tanh", "p05_linear_bias_residual"}));
}

TEST_F(Block, LinearWithBiasMergesItsLeadingDimensions) {
    const auto& p = find(*found, "p00_linear_bias");
    EXPECT_EQ(p.kernel,
              "kernel linear_bias(x: bf16[M, K], w: bf16[N, K], bias: bf16[N]) -> "
              "(y: bf16[M, N]) {\n"
              "  acc = x @ w.T\n"
              "  y   = acc + bias\n"
              "}\n");
    EXPECT_EQ(p.params[0], (graph::Binding{"x", "layer_norm", {{0, 1}, {2}}, false}));
    EXPECT_EQ(p.params[1], (graph::Binding{"w", "p_qkv_weight", {{0}, {1}}, true}));
    EXPECT_EQ(p.results[0], (graph::Binding{"y", "linear", {{0, 1}, {2}}, false}));
    EXPECT_EQ(p.problem.m, 32);
    EXPECT_EQ(p.problem.n, 48);
    EXPECT_EQ(p.problem.k, 16);
    EXPECT_EQ(p.problem.batch, 1);
    EXPECT_EQ(p.where.module_path, "qkv");
}

TEST_F(Block, ScoresReadPackedHeadsAndAbsorbScaleAndMask) {
    const auto& p = find(*found, "p01b_matmul_scale_mask");
    EXPECT_EQ(p.kernel,
              "kernel matmul_scale_mask(\n"
              "    a: bf16[B, M, H, K],\n"
              "    b: bf16[B, N, H, K],\n"
              "    mask: bf16[M, N]\n"
              ") -> (\n"
              "    y: bf16[B, H, M, N]\n"
              ") {\n"
              "  acc = a.permute(B, H, M, K) @ b.permute(B, H, K, N)\n"
              "  y   = where(mask == 0.0, -inf, acc * 0.35355339059327373)\n"
              "}\n");
    EXPECT_EQ(p.nodes, (Names{"transpose", "transpose_1", "transpose_3", "matmul", "mul", "eq",
                              "masked_fill"}));
    EXPECT_EQ(p.inputs, (Names{"view", "view_1", "b_mask"}));
    EXPECT_EQ(p.outputs, Names{"masked_fill"});
    EXPECT_EQ(p.params[2], (graph::Binding{"mask", "b_mask", {{2}, {3}}, true}));
    EXPECT_EQ(p.problem.batch, 4);
    EXPECT_EQ(p.problem.full_operands, 1);
    EXPECT_EQ(p.problem.a, schedule::Major::k);
    EXPECT_EQ(p.problem.b, schedule::Major::k);
}

// What the softmax reads is rounded where torch rounds it.
TEST_F(Block, SoftmaxJoinsTheScores) {
    const auto& p = find(*found, "p01_matmul_scale_mask_softmax");
    EXPECT_EQ(p.kernel,
              "kernel matmul_scale_mask_softmax(\n"
              "    a: bf16[B, M, H, K],\n"
              "    b: bf16[B, N, H, K],\n"
              "    mask: bf16[M, N]\n"
              ") -> (\n"
              "    y: bf16[B, H, M, N]\n"
              ") {\n"
              "  acc = a.permute(B, H, M, K) @ b.permute(B, H, K, N)\n"
              "  t1  = bf16(where(mask == 0.0, -inf, acc * 0.35355339059327373))\n"
              "  t2  = exp(t1 - max(t1, over: N))\n"
              "  y   = t2 / sum(t2, over: N)\n"
              "}\n");
    EXPECT_EQ(p.outputs, Names{"softmax"});
}

TEST_F(Block, WeightedValuesAreWrittenPermuted) {
    const auto& p = find(*found, "p02_matmul_permuted");
    EXPECT_EQ(p.kernel,
              "kernel matmul_permuted(a: bf16[B, H, M, K], b: bf16[B, K, H, N]) -> "
              "(y: bf16[B, M, H, N]) {\n"
              "  acc = a @ b.permute(B, H, K, N)\n"
              "  y   = acc.permute(B, M, H, N)\n"
              "}\n");
    EXPECT_EQ(p.outputs, Names{"clone"});
    EXPECT_EQ(p.problem.b, schedule::Major::mn);
}

TEST_F(Block, ResidualAddIsPartOfTheProjection) {
    const auto& p = find(*found, "p03_linear_bias_residual");
    EXPECT_EQ(p.kernel,
              "kernel linear_bias_residual(\n"
              "    x: bf16[M, K],\n"
              "    w: bf16[N, K],\n"
              "    bias: bf16[N],\n"
              "    residual: bf16[M, N]\n"
              ") -> (\n"
              "    y: bf16[M, N]\n"
              ") {\n"
              "  acc = x @ w.T\n"
              "  y   = residual + (acc + bias)\n"
              "}\n");
    EXPECT_EQ(p.inputs, (Names{"view_3", "p_proj_weight", "p_proj_bias", "x"}));
}

TEST_F(Block, HandWrittenGeluIsRecognised) {
    const auto& p = find(*found, "p04_linear_bias_gelu_tanh");
    EXPECT_EQ(p.kernel,
              "kernel linear_bias_gelu_tanh(x: bf16[M, K], w: bf16[N, K], bias: bf16[N]) -> "
              "(y: bf16[M, N]) {\n"
              "  acc = x @ w.T\n"
              "  y   = gelu_tanh(acc + bias)\n"
              "}\n");
    EXPECT_EQ(p.nodes.size(), 9u);
    EXPECT_GT(p.cost.unfused_bytes, 8 * p.cost.bytes);
    EXPECT_GT(p.priority, 0);
}

TEST_F(Block, SameTextWithAnotherProblemIsAnotherFamily) {
    const auto& proj = find(*found, "p03_linear_bias_residual");
    const auto& down = find(*found, "p05_linear_bias_residual");
    EXPECT_EQ(proj.kernel, down.kernel);
    EXPECT_NE(proj.family, down.family);
}

// The residual sum between them is its product's: the second norm reads it.
TEST_F(Block, NormsStandAlone) {
    EXPECT_EQ(find(*found, "n00_layer_norm_rows").nodes, Names{"layer_norm"});
    EXPECT_EQ(find(*found, "n01_layer_norm_rows").nodes, Names{"layer_norm_1"});
    // The same text, problem and operators: one realization serves both.
    EXPECT_EQ(find(*found, "n00_layer_norm_rows").family,
              find(*found, "n01_layer_norm_rows").family);
    EXPECT_TRUE(found->left_alone.empty());
}

TEST_F(Block, EveryTextCompiles) {
    for (const auto& pattern : found->patterns) {
        Diagnostics diagnostics;
        const auto program = dsl::compile(pattern.kernel, diagnostics);
        ASSERT_TRUE(program) << render_all(diagnostics, pattern.id, pattern.kernel);
        EXPECT_EQ(dsl::to_text(program->kernels.at(0)), pattern.kernel);
    }
}

TEST_F(Block, SurvivesJson) {
    const std::string text = to_json(*found);
    const auto back = discovery_from_json(text);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(to_json(*back), text);
    EXPECT_EQ(find(*back, "p01_matmul_scale_mask_softmax").problem.batch, 4);
    EXPECT_FALSE(discovery_from_json("{\"patterns\": [{}]}"));
    EXPECT_FALSE(discovery_from_json("nonsense"));
}

TEST_F(Block, TableNamesSourceModuleAndReasons) {
    const std::string text = print(*found);
    EXPECT_NE(text.find("p04b_layer_norm_linear_bias_gelu_tanh  linear  make.py:34  up"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("left to torch:"), std::string::npos);
    Discovery some = *found;
    some.left_alone.push_back(
        {"logcumsumexp", "aten.logcumsumexp.default", "no rule covers it yet", {}});
    const std::string left = print(some);
    EXPECT_NE(left.find("left to torch:"), std::string::npos);
    EXPECT_NE(left.find("no rule covers it yet"), std::string::npos);
}

class Cases : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { found = new Discovery(discover_file("cases.pt2")); }
    static void TearDownTestSuite() { delete found; }
    static const Discovery* found;
};
const Discovery* Cases::found = nullptr;

TEST_F(Cases, TransposedOperandIsReadAsItLies) {
    const auto& p = find(*found, "p00_plain_matmul");
    EXPECT_EQ(p.kernel,
              "kernel plain_matmul(a: bf16[K, M], b: bf16[K, N]) -> (y: bf16[M, N]) {\n"
              "  acc = a.T @ b\n"
              "  y   = acc\n"
              "}\n");
    EXPECT_EQ(p.inputs, (Names{"x", "s"}));
    EXPECT_EQ(p.problem.a, schedule::Major::mn);
    EXPECT_EQ(p.problem.b, schedule::Major::mn);
}

TEST_F(Cases, AddmmKeepsAlphaAndBeta) {
    EXPECT_EQ(find(*found, "p01_matmul_scale_bias").kernel,
              "kernel matmul_scale_bias(a: bf16[M, K], b: bf16[N, K], bias: bf16[N]) -> "
              "(y: bf16[M, N]) {\n"
              "  acc = a @ b.T\n"
              "  y   = acc * 2.0 + bias * 0.5\n"
              "}\n");
}

TEST_F(Cases, BmmHasOneBatchDimension) {
    const auto& p = find(*found, "p02_plain_matmul");
    EXPECT_EQ(p.kernel,
              "kernel plain_matmul(a: bf16[B, M, K], b: bf16[B, K, N]) -> (y: bf16[B, M, N]) {\n"
              "  acc = a @ b\n"
              "  y   = acc\n"
              "}\n");
    EXPECT_EQ(p.problem.batch, 4);
}

TEST_F(Cases, OperandWithoutBatchMergesBatchIntoRows) {
    const auto& p = find(*found, "p03_matmul_relu");
    EXPECT_EQ(p.kernel,
              "kernel matmul_relu(a: bf16[M, K], b: bf16[N, K]) -> (y: bf16[M, N]) {\n"
              "  acc = a @ b.T\n"
              "  y   = relu(acc)\n"
              "}\n");
    EXPECT_EQ(p.params[0].dims, (Dims{{0, 1}, {2}}));
    EXPECT_EQ(p.problem.m, 64);
}

TEST_F(Cases, OnlyNarrowingCastsInsideAreWritten) {
    const auto& p = find(*found, "p04_linear_scale_exp");
    EXPECT_EQ(p.kernel,
              "kernel linear_scale_exp(x: bf16[M, K], w: bf16[N, K]) -> (y: f32[M, N]) {\n"
              "  acc = x @ w.T\n"
              "  y   = exp(bf16(acc * 0.1))\n"
              "}\n");
    EXPECT_EQ(p.problem.output, DType::f32);
}

TEST_F(Cases, ChainOfActivations) {
    EXPECT_EQ(find(*found, "p05_linear_leaky_relu_hardswish_softplus").kernel,
              "kernel linear_leaky_relu_hardswish_softplus(x: bf16[M, K], w: bf16[N, K]) -> "
              "(y: bf16[M, N]) {\n"
              "  acc = x @ w.T\n"
              "  t1  = where(acc > 0.0, acc, acc * 0.2)\n"
              "  y   = softplus(t1 * (min(max(t1 + 3.0, 0.0), 6.0) * 0.16666666666666666))\n"
              "}\n");
}

// Two products of one matrix meet in one multiplication: both are computed in one tile.
TEST_F(Cases, AGateOfTwoLinearsIsOnePattern) {
    const auto& p = find(*found, "p06_linear_silu_bias_mul");
    EXPECT_EQ(p.nodes, (Names{"linear_2", "silu", "linear_3", "mul_1"}));
    EXPECT_EQ(p.inputs, (Names{"x", "w", "bias"}));
    EXPECT_EQ(p.kernel, R"(kernel linear_silu_bias_mul(
    x: bf16[M, K],
    w: bf16[N, K],
    w2: bf16[N, K],
    bias: bf16[N]
) -> (
    y: bf16[M, N]
) {
  acc  = x @ w.T
  acc2 = x @ w2.T
  y    = silu(acc) * (acc2 + bias)
}
)");
}

TEST_F(Cases, ResidualOfItsOwnSoftmaxIsTakenWhole) {
    EXPECT_EQ(find(*found, "p07_linear_bias_softmax_add").nodes,
              (Names{"linear_4", "softmax", "add"}));
    EXPECT_EQ(find(*found, "p07b_linear_bias").nodes, Names{"linear_4"});
}

TEST_F(Cases, ViewThatOnlyMergesRowsIsCrossed) {
    const auto& p = find(*found, "p08_linear_bias_tanh");
    EXPECT_EQ(p.nodes, (Names{"linear_5", "view", "tanh"}));
    EXPECT_EQ(p.params[0].dims, (Dims{{0, 1}, {2}}));
    EXPECT_EQ(p.results[0].dims, (Dims{{0}, {1}}));
}

TEST_F(Cases, OddWidthIsSaidWithItsAlignment) {
    const auto& p = find(*found, "p09_linear");
    EXPECT_EQ(p.params[0].alignment, 16);
    EXPECT_EQ(p.results[0].alignment, 2);
}

// What trips up the discovery, in whatever way, costs the patterns around it and no others.
TEST(Discover, AnExceptionCostsOnePattern) {
    testing::Net net;
    const auto x = net.input("x", {128, 256}), w = net.weight("w", {512, 256});
    const auto good = net.pointwise("good", "relu.default", net.linear("first", x, w));
    // Dimensions that are no numbers: nothing that torch writes.
    const auto turned = net.permute("turned", net.input("z", {256, 128}), {1, 0});
    net.graph[*net.graph[turned].producer].inputs[1].value = graph::OpaqueArg{"none", "[]"};
    const auto bad = net.linear("second", turned, net.weight("v", {512, 256}));
    net.output(good), net.output(bad);
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u) << print(found);
    EXPECT_EQ(found.patterns[0].id, "p00_linear_relu");
    EXPECT_NE(testing::reason_for(found, "second").find("a defect of FACT, please report it: "),
              std::string::npos)
        << print(found);
}

}  // namespace
}  // namespace fact::match
