// Attention in its spellings: what is taken, how it is written, and what is left as it is.
#include "match/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "dsl/dsl.h"
#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "graphs.h"
#include "match/printer.h"

namespace fact::match {
namespace {

using graph::None;
using graph::ValueId;
using testing::Net;
using testing::reason_for;
using testing::Sizes;
using Ints = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr std::int64_t kB = 2, kH = 4, kT = 64, kD = 32;
constexpr double kLow = -std::numeric_limits<double>::infinity();

// Heads as they lie after a projection, and the steps of a chain.
struct Heads : Net {
    ValueId q = head("q", kH), k = head("k", kH), v = head("v", kH);

    ValueId head(const std::string& name, std::int64_t heads) {
        return permute(name + "t", input(name, {kB, kT, heads, kD}), {0, 2, 1, 3});
    }
    ValueId product(const std::string& name, ValueId a, ValueId b, Sizes sizes) {
        return op(name, "matmul.default", {{"self", a}, {"other", b}}, std::move(sizes));
    }
    ValueId scores(ValueId a, ValueId b) {
        return product("scores", a, permute("kt2", b, {0, 1, 3, 2}), {kB, kH, kT, kT});
    }
    ValueId scores() { return scores(q, k); }
    ValueId softmax(ValueId x) {
        return op("weights", "softmax.int", {{"self", x}, {"dim", std::int64_t{3}}},
                  {kB, kH, kT, kT});
    }
    ValueId mix(ValueId weights) { return product("mixed", weights, v, {kB, kH, kT, kD}); }
    // A triangle of index arithmetic, in the type of the net.
    ValueId triangle() {
        const auto low =
            op("low", "full.default", {{"size", Ints{kT, kT}}, {"fill_value", kLow}}, {kT, kT});
        return op("triangle", "triu.default", {{"self", low}, {"diagonal", std::int64_t{1}}},
                  {kT, kT});
    }
    // What lies further back than a row's own and the columns before it, so many together.
    ValueId window(std::int64_t columns) {
        const auto above = triangle();
        const auto low =
            op("far", "full.default", {{"size", Ints{kT, kT}}, {"fill_value", kLow}}, {kT, kT});
        const auto below =
            op("below", "tril.default", {{"self", low}, {"diagonal", -columns}}, {kT, kT});
        return add("window", above, below);
    }
    ValueId add(const std::string& name, ValueId x, ValueId other) {
        return pointwise(name, "add.Tensor", x, other);
    }
};

const Pattern* attention(const Discovery& found) {
    for (const auto& pattern : found.patterns)
        if (pattern.rule == "attention") return &pattern;
    return nullptr;
}

std::string text_of(const Net& net, const Options& options = {}) {
    const auto found = net.discover(options);
    const auto* pattern = attention(found);
    return pattern ? pattern->kernel : "(none)\n" + print(found);
}

std::string expected(const std::string& name, const std::string& more) {
    return "kernel " + name +
           "(\n"
           "    q: bf16[B, M, H, D],\n"
           "    k: bf16[B, N, H, D],\n"
           "    v: bf16[B, N, H, D]\n"
           ") -> (\n"
           "    y: bf16[B, H, M, D]\n"
           ") {\n"
           "  o = attention(q.permute(B, H, M, D), k.permute(B, H, N, D), "
           "v.permute(B, H, N, D), " +
           more +
           ")\n"
           "  y = o\n"
           "}\n";
}

TEST(Attention, ABlockOfMiniGptIsOnePatternWhereItsMaskIsKnown) {
    auto archive = graph::read_pt2(std::string(FACT_TEST_DATA) + "/data/block.pt2");
    ASSERT_TRUE(archive) << archive.error().text();
    const auto graph = graph::canonicalize(archive->graph);
    const auto found = discover(graph, {}, archive->weights);
    Names ids;
    for (const auto& pattern : found.patterns) ids.push_back(pattern.id);
    EXPECT_EQ(ids, (Names{"n00_layer_norm_rows", "p00_linear_bias", "p00b_layer_norm_linear_bias",
                          "p01_sdpa_causal", "p02_linear_bias_residual", "n01_layer_norm_rows",
                          "p03_linear_bias_gelu_tanh", "p03b_layer_norm_linear_bias_gelu_tanh",
                          "p04_linear_bias_residual"}));
    const Pattern& p = *attention(found);
    EXPECT_EQ(p.kernel,
              "kernel sdpa_causal(\n"
              "    q: bf16[B, M, H, D],\n"
              "    k: bf16[B, N, H, D],\n"
              "    v: bf16[B, N, H, D]\n"
              ") -> (\n"
              "    y: bf16[B, M, H, D]\n"
              ") {\n"
              "  o = attention(q.permute(B, H, M, D), k.permute(B, H, N, D), "
              "v.permute(B, H, N, D), mask: causal, scale: 0.35355339059327373)\n"
              "  y = o.permute(B, M, H, D)\n"
              "}\n");
    EXPECT_EQ(p.inputs, (Names{"view", "view_1", "view_2", "b_mask"}));
    EXPECT_EQ(p.outputs, Names{"clone"});
    EXPECT_EQ(p.copied, Names{});
    EXPECT_EQ(p.params.size(), 3u);  // the mask is not read
    EXPECT_EQ(p.problem.m, 16);
    EXPECT_EQ(p.problem.batch, 4);
    EXPECT_GT(p.priority, 0);
    const auto back = discovery_from_json(to_json(found));
    ASSERT_TRUE(back);
    EXPECT_EQ(to_json(*back), to_json(found));

    // One byte of its last column: what is no triangle stays the mask it is.
    std::vector<std::byte> changed;
    for (auto& weight : archive->weights)
        if (weight.fqn == "mask") {
            changed.assign(weight.storage.begin(), weight.storage.end());
            ASSERT_EQ(changed[2 * 15 + 1], std::byte{0});
            changed[2 * 15 + 1] = std::byte{0x3f};
            weight.storage = changed;
        }
    ASSERT_FALSE(changed.empty());
    const auto apart = discover(graph, {}, archive->weights);
    ASSERT_NE(attention(apart), nullptr) << print(apart);
    EXPECT_NE(attention(apart)->kernel.find("where(mask, -inf, 0.0)"), std::string::npos);
    EXPECT_EQ(attention(apart)->kernel.find("causal"), std::string::npos);
}

TEST(Attention, AWindowIsPartOfTheMask) {
    const auto flops = [](const Net& net) {
        const auto found = net.discover();
        return attention(found)->cost.flops;
    };
    Heads net, whole;
    net.output(net.mix(net.softmax(net.add("masked", net.scores(), net.window(16)))));
    whole.output(whole.mix(whole.softmax(whole.add("masked", whole.scores(), whole.triangle()))));
    EXPECT_EQ(text_of(net), expected("sdpa_causal_window", "mask: causal, window: 16, scale: 1.0"));
    // What is hidden costs nothing.
    const double all = kT * (kT + 1) / 2, far = (kT - 16) * (kT - 15) / 2;
    EXPECT_DOUBLE_EQ(flops(net), flops(whole) * (all - far) / all);
}

TEST(Attention, FactorsOnEitherSideMakeTheScale) {
    const std::string scaled = expected("sdpa", "scale: 0.25");
    {
        Heads net;
        net.output(net.mix(net.softmax(net.pointwise("s", "mul.Tensor", net.scores(), 0.25))));
        EXPECT_EQ(text_of(net), scaled);
    }
    {
        Heads net;
        net.output(net.mix(net.softmax(net.pointwise("s", "div.Tensor", net.scores(), 4.0))));
        EXPECT_EQ(text_of(net), scaled);
    }
    {
        Heads net;
        const auto q = net.pointwise("qs", "mul.Tensor", net.q, 0.5);
        const auto k = net.pointwise("ks", "mul.Scalar", net.k, 0.5);
        net.output(net.mix(net.softmax(net.scores(q, k))));
        EXPECT_EQ(text_of(net), scaled);
    }
    {
        Heads net;
        net.output(net.mix(net.softmax(net.scores())));
        EXPECT_EQ(text_of(net), expected("sdpa", "scale: 1.0"));
    }
    {
        Heads net;  // the smallest would win
        net.output(net.mix(net.softmax(net.pointwise("s", "mul.Tensor", net.scores(), -0.25))));
        EXPECT_EQ(text_of(net).substr(0, 6), "(none)");
    }
}

// One of a family is proved for all of it.
TEST(Attention, TheSameTextForOtherOperatorsIsAnotherFamily) {
    const auto pattern = [](const char* target, double number) {
        Heads net;
        net.output(net.mix(net.softmax(net.pointwise("s", target, net.scores(), number))));
        return *attention(net.discover());
    };
    const Pattern times = pattern("mul.Tensor", 0.25), over = pattern("div.Tensor", 4.0);
    EXPECT_EQ(times.kernel, over.kernel);
    EXPECT_NE(times.family, over.family);
    EXPECT_EQ(times.family, pattern("mul.Tensor", 0.25).family);
}

TEST(Attention, ATriangleIsNoBias) {
    Heads net;
    const auto masked = net.add("masked", net.scores(), net.triangle());
    net.output(net.mix(net.softmax(net.pointwise("s", "mul.Tensor", masked, 0.25))));
    EXPECT_EQ(text_of(net), expected("sdpa_causal", "mask: causal, scale: 0.25"));
    const auto found = net.discover();
    EXPECT_EQ(attention(found)->inputs, (Names{"q", "k", "v"}));
    EXPECT_TRUE(found.left_alone.empty()) << print(found);
}

// What hides before a factor need not hide behind it.
TEST(Attention, HiddenScoresStayHiddenBehindFactors) {
    for (const auto& [factor, hides] : {std::pair{0.5, true}, std::pair{1e-3, false}}) {
        Heads net;
        net.dtype = DType::boolean;
        const auto ones = net.op("ones", "ones.default", {{"size", Ints{kT, kT}}}, {kT, kT});
        const auto above = net.op("above", "triu.default",
                                  {{"self", ones}, {"diagonal", std::int64_t{1}}}, {kT, kT});
        net.dtype = DType::bf16;
        const auto masked =
            net.op("masked", "masked_fill.Scalar",
                   {{"self", net.scores()}, {"mask", above}, {"value", -1e5}}, {kB, kH, kT, kT});
        net.output(net.mix(net.softmax(net.pointwise("s", "mul.Tensor", masked, factor))));
        EXPECT_EQ(text_of(net).find("mask: causal") != std::string::npos, hides) << factor;
    }
}

// One tensor as queries, keys and values: what it is made of is taken for all of them or for none.
TEST(Attention, OneTensorMayBeAllOperands) {
    Heads net;
    const auto x = net.pointwise("x", "mul.Tensor", net.q, 0.5);
    net.v = net.q;
    net.output(net.mix(net.softmax(net.scores(x, x))));
    EXPECT_EQ(text_of(net), expected("sdpa", "scale: 0.25"));
    const auto found = net.discover();
    EXPECT_EQ(attention(found)->inputs, Names{"q"});
    for (const auto& param : attention(found)->params) EXPECT_EQ(param.value, "q");
}

// A mask for several layers is not one's to take: each computes it for itself in its original.
TEST(Attention, ASharedMaskIsCopied) {
    Heads net;
    const auto mask = net.triangle();
    net.output(mask);
    net.output(net.mix(net.softmax(net.add("masked", net.scores(), mask))));
    const auto found = net.discover();
    const auto* pattern = attention(found);
    ASSERT_NE(pattern, nullptr);
    EXPECT_EQ(pattern->copied, (Names{"low", "triangle"}));
    EXPECT_EQ(pattern->nodes,
              (Names{"qt", "kt", "vt", "kt2", "scores", "masked", "weights", "mixed"}));
    EXPECT_EQ(pattern->inputs, (Names{"q", "k", "v"}));
}

TEST(Attention, OtherAddedMasksAreABias) {
    Heads net;
    const auto mask = net.input("mask", {kB, 1, 1, kT});
    const auto scaled = net.pointwise("s", "mul.Tensor", net.scores(), 0.25);
    net.output(net.mix(net.softmax(net.add("masked", scaled, mask))));
    EXPECT_EQ(text_of(net),
              "kernel sdpa_bias(\n"
              "    q: bf16[B, M, H, D],\n"
              "    k: bf16[B, N, H, D],\n"
              "    v: bf16[B, N, H, D],\n"
              "    bias: bf16[B, N]\n"
              ") -> (\n"
              "    y: bf16[B, H, M, D]\n"
              ") {\n"
              "  o = attention(q.permute(B, H, M, D), k.permute(B, H, N, D), "
              "v.permute(B, H, N, D), bias: bias, scale: 0.25)\n"
              "  y = o\n"
              "}\n");
}

TEST(Attention, ABooleanMaskIsABias) {
    const auto chain = [](double low) {
        Heads net;
        const auto mask = net.input("mask", {kB, 1, 1, kT});
        net.graph[mask].type->dtype = DType::boolean;
        const auto hidden =
            net.op("hidden", "masked_fill.Scalar",
                   {{"self", net.scores()}, {"mask", mask}, {"value", low}}, {kB, kH, kT, kT});
        net.output(net.mix(net.softmax(hidden)));
        return text_of(net);
    };
    EXPECT_NE(chain(kLow).find("where(mask, -inf, 0.0)"), std::string::npos) << chain(kLow);
    // A row of which everything is hidden would weigh its columns otherwise than torch does.
    EXPECT_EQ(chain(-1e30).substr(0, 6), "(none)");
}

// Beside another mask a row may see nothing, and then it matters what hides.
TEST(Attention, ATriangleBesideAMaskHidesWithInfinity) {
    const auto chain = [](double low) {
        Heads net;
        const auto full =
            net.op("full", "full.default", {{"size", Ints{kT, kT}}, {"fill_value", low}}, {kT, kT});
        const auto triangle = net.op("triangle", "triu.default",
                                     {{"self", full}, {"diagonal", std::int64_t{1}}}, {kT, kT});
        const auto masked = net.add("masked", net.scores(), triangle);
        net.output(net.mix(net.softmax(net.add("more", masked, net.input("bias", {kT, kT})))));
        return text_of(net);
    };
    EXPECT_NE(chain(kLow).find("mask: causal, bias: bias"), std::string::npos) << chain(kLow);
    EXPECT_EQ(chain(-1e30).substr(0, 6), "(none)");
}

// A bias by head and a padding mask, joined as models do that share the result between layers.
struct Joined : Heads {
    ValueId present(const std::string& name = "present") {
        const auto mask = input(name, {kB, 1, 1, kT});
        graph[mask].type->dtype = DType::boolean;
        return mask;
    }
    ValueId absent() {
        dtype = DType::boolean;
        const auto mask = pointwise("absent", "bitwise_not.default", present());
        dtype = DType::bf16;
        return mask;
    }
    ValueId hidden(ValueId bias, double low = kLow) {
        return op("joined", "masked_fill.Scalar",
                  {{"self", bias}, {"mask", absent()}, {"value", low}}, {kB, kH, kT, kT});
    }
    ValueId sum(ValueId bias, ValueId mask) {
        return op("joined", "add.Tensor", {{"self", bias}, {"other", mask}}, {kB, kH, kT, kT});
    }
    ValueId by_head() { return input("by_head", {1, kH, kT, kT}); }
    ValueId attend(ValueId bias) { return mix(softmax(add("biased", scores(), bias))); }
    ValueId call(ValueId bias, const std::string& name = "o") {
        return op(name, "scaled_dot_product_attention.default",
                  {{"query", q}, {"key", k}, {"value", v}, {"attn_mask", bias}}, {kB, kH, kT, kD});
    }
};

TEST(Attention, AJoinedBiasIsReadInItsParts) {
    Joined net;
    net.output(net.attend(net.hidden(net.by_head())));
    EXPECT_EQ(text_of(net),
              "kernel sdpa_bias(\n"
              "    q: bf16[B, M, H, D],\n"
              "    k: bf16[B, N, H, D],\n"
              "    v: bf16[B, N, H, D],\n"
              "    bias: bf16[H, M, N],\n"
              "    mask: bool[B, N]\n"
              ") -> (\n"
              "    y: bf16[B, H, M, D]\n"
              ") {\n"
              "  t1 = where(mask, bias.expand(B, H, M, N), -inf)\n"
              "  o  = attention(q.permute(B, H, M, D), k.permute(B, H, N, D), "
              "v.permute(B, H, N, D), bias: t1, scale: 1.0)\n"
              "  y  = o\n"
              "}\n");
    const auto found = net.discover();
    EXPECT_EQ(attention(found)->inputs, (Names{"q", "k", "v", "present", "by_head"}));
    EXPECT_EQ(attention(found)->copied, Names{});
    EXPECT_TRUE(found.left_alone.empty()) << print(found);
    Diagnostics diagnostics;
    EXPECT_TRUE(dsl::compile(text_of(net), diagnostics));
}

TEST(Attention, TorchsOperatorReadsAJoinedBiasInItsPartsToo) {
    Joined net;
    net.output(net.call(net.hidden(net.by_head())));
    EXPECT_NE(text_of(net).find("where(mask, bias.expand(B, H, M, N), -inf)"), std::string::npos)
        << text_of(net);
    EXPECT_NE(text_of(net).find("unseen: zero"), std::string::npos) << text_of(net);
}

// Torch rounds a sum to the type of its result, and so does the kernel; what it chooses is exact,
// but for a number that the type cannot hold.
TEST(Attention, AJoinedBiasIsRoundedWhereTorchRoundsIt) {
    {
        Joined net;
        net.output(net.attend(net.sum(net.by_head(), net.input("low", {kB, 1, 1, kT}))));
        EXPECT_NE(text_of(net).find("bf16(bias.expand(B, H, M, N) + bias1)"), std::string::npos)
            << text_of(net);
    }
    for (const auto& [low, rounds] : {std::pair{-1e4, true}, std::pair{-10240.0, false}}) {
        Joined net;
        net.output(net.attend(net.hidden(net.by_head(), low)));
        EXPECT_EQ(text_of(net).find("bf16(where(") != std::string::npos, rounds) << text_of(net);
        EXPECT_NE(text_of(net).find("mask: bool[B, N]"), std::string::npos) << text_of(net);
    }
}

// A gather by distance leaves the heads innermost.
TEST(Attention, ABiasIsReadAsItLies) {
    Joined net;
    const auto bias = net.permute("turned", net.input("by_distance", {kT, kT, kH}), {2, 0, 1});
    const auto four =
        net.op("four", "unsqueeze.default", {{"self", bias}, {"dim", std::int64_t{0}}},
               {1, kH, kT, kT}, {kT * kT * kH, 1, kT * kH, kH});
    net.output(net.attend(net.hidden(four)));
    EXPECT_NE(text_of(net).find("bias: bf16[M, N, H]"), std::string::npos) << text_of(net);
    EXPECT_NE(text_of(net).find("bias.permute(H, M, N).expand(B, H, M, N)"), std::string::npos)
        << text_of(net);
}

TEST(Attention, ASharedJoinIsMadeInEveryLayer) {
    Joined net;
    const auto bias = net.hidden(net.by_head());
    net.output(net.call(bias, "first"));
    net.output(net.call(bias, "second"));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 2u) << print(found);
    for (const auto& pattern : found.patterns) {
        EXPECT_EQ(pattern.copied, (Names{"absent", "joined"}));
        EXPECT_EQ(pattern.inputs, (Names{"present", "by_head", "qt", "kt", "vt"}));
    }
    EXPECT_TRUE(found.left_alone.empty()) << print(found);
}

TEST(Attention, AJoinNoLargerThanItsPartsIsRead) {
    Joined net;
    net.output(net.attend(net.hidden(net.input("by_head", {kB, kH, kT, kT}))));
    EXPECT_NE(text_of(net).find("bias: bias, scale"), std::string::npos) << text_of(net);
    EXPECT_EQ(text_of(net).find("mask"), std::string::npos) << text_of(net);
}

// What a mask of numbers is computed from is not computed again for every score.
TEST(Attention, ArithmeticOnOneNumberAKeyIsLeft) {
    Joined net;
    const auto number = net.pointwise("number", "_to_copy.default", net.present());
    const auto absent =
        net.op("absent", "rsub.Scalar", {{"self", number}, {"other", 1.0}}, {kB, 1, 1, kT});
    const auto low = net.pointwise("low", "mul.Tensor", absent, -1e30);
    net.output(net.attend(net.sum(net.by_head(), low)));
    EXPECT_NE(text_of(net).find("bf16(bias.expand(B, H, M, N) + bias1)"), std::string::npos)
        << text_of(net);
    EXPECT_EQ(net.discover().left_alone.size(), 3u);
}

TEST(Attention, AMaskByComparisonIsMadeOfIt) {
    Joined net;
    net.output(net.call(net.absent()));
    EXPECT_NE(text_of(net).find("where(not mask, 0.0, -inf)"), std::string::npos) << text_of(net);
}

TEST(Attention, MasksMayVaryAlongDifferentDimensions) {
    Joined net;
    const auto biased = net.add("biased", net.scores(), net.by_head());
    const auto hidden =
        net.op("hidden", "masked_fill.Scalar",
               {{"self", biased}, {"mask", net.present()}, {"value", kLow}}, {kB, kH, kT, kT});
    net.output(net.mix(net.softmax(hidden)));
    EXPECT_NE(text_of(net).find("bias.expand(B, H, M, N) + where(mask, -inf, 0.0)"),
              std::string::npos)
        << text_of(net);
}

TEST(Attention, ATanhBetweenTwoFactorsIsACap) {
    Heads net;
    const auto scaled = net.pointwise("scaled", "mul.Tensor", net.scores(), 0.25);
    const auto share = net.pointwise("share", "div.Tensor", scaled, 50.0);
    const auto bent = net.pointwise("bent", "tanh.default", share);
    const auto capped = net.pointwise("capped", "mul.Tensor", bent, 50.0);
    net.output(net.mix(net.softmax(net.add("masked", capped, net.triangle()))));
    EXPECT_EQ(text_of(net), expected("sdpa_causal_cap", "mask: causal, scale: 0.25, cap: 50.0"));
}

// A bias that is capped with the scores is none that the kernel adds.
TEST(Attention, WhatIsAddedBeforeACapIsLeft) {
    Heads net;
    const auto biased = net.add("biased", net.scores(), net.input("bias", {kT, kT}));
    net.output(net.mix(net.softmax(net.pointwise("bent", "tanh.default", biased))));
    EXPECT_EQ(text_of(net).substr(0, 6), "(none)");
}

TEST(Attention, ABiasThatIsScaledIsLeft) {
    Heads net;
    const auto masked = net.add("masked", net.scores(), net.input("mask", {kT, kT}));
    net.output(net.mix(net.softmax(net.pointwise("s", "mul.Tensor", masked, 0.25))));
    EXPECT_EQ(text_of(net).substr(0, 6), "(none)");
}

TEST(Attention, SoftmaxInF32IsTheSame) {
    Heads net;
    const auto scores = net.scores();
    net.dtype = DType::f32;
    const auto wide = net.pointwise("wide", "_to_copy.default", scores);
    const auto weights = net.softmax(wide);
    net.dtype = DType::bf16;
    net.output(net.mix(net.pointwise("narrow", "_to_copy.default", weights)));
    EXPECT_EQ(text_of(net), expected("sdpa", "scale: 1.0"));
}

TEST(Attention, WhatOthersReadStaysApart) {
    for (const bool weights : {false, true}) {
        Heads net;
        const auto scores = net.scores(), w = net.softmax(scores);
        net.output(net.mix(w));
        net.output(net.pointwise("other", "relu.default", weights ? w : scores));
        const auto found = net.discover();
        EXPECT_EQ(attention(found), nullptr) << print(found);
        EXPECT_FALSE(found.patterns.empty());
    }
}

TEST(Attention, WhatNoSkeletonHoldsStaysApart) {
    const auto chain = [](DType dtype, std::int64_t depth, bool allow_tf32 = false) {
        Net net;
        net.dtype = dtype;
        std::vector<ValueId> heads;
        for (const char* name : {"q", "k", "v"}) heads.push_back(net.input(name, {kB, kT, depth}));
        const auto scores = net.op(
            "scores", "bmm.default",
            {{"self", heads[0]}, {"mat2", net.permute("kt", heads[1], {0, 2, 1})}}, {kB, kT, kT});
        const auto weights = net.op("weights", "softmax.int",
                                    {{"self", scores}, {"dim", std::int64_t{2}}}, {kB, kT, kT});
        net.output(net.op("mixed", "bmm.default", {{"self", weights}, {"mat2", heads[2]}},
                          {kB, kT, depth}));
        const auto found = net.discover({.allow_tf32 = allow_tf32});
        return attention(found) != nullptr;
    };
    EXPECT_TRUE(chain(DType::bf16, 128));
    EXPECT_TRUE(chain(DType::f16, 64));
    EXPECT_FALSE(chain(DType::f32, 64));
    EXPECT_TRUE(chain(DType::f32, 64, true));
    EXPECT_FALSE(chain(DType::f32, 68, true));
    EXPECT_FALSE(chain(DType::bf16, 264));
    EXPECT_FALSE(chain(DType::bf16, 44));
}

TEST(Attention, TheOperatorsMaskIsProvedOrAdded) {
    for (const bool known : {true, false}) {
        Heads net;
        const auto mask = known ? net.triangle() : net.input("mask", {kT, kT});
        net.output(net.op("o", "scaled_dot_product_attention.default",
                          {{"query", net.q}, {"key", net.k}, {"value", net.v}, {"attn_mask", mask}},
                          {kB, kH, kT, kD}));
        if (known)
            EXPECT_NE(text_of(net).find("mask: causal"), std::string::npos) << text_of(net);
        else
            EXPECT_NE(text_of(net).find("bias: bias, unseen: zero"), std::string::npos)
                << text_of(net);
    }
}

// Heads that share keys are the inner part of q's: k and v lack it.
TEST(Attention, RepeatedHeadsAreReadOnce) {
    Heads net;
    const std::int64_t groups = 2, repeats = kH / groups;
    const auto repeated = [&](const std::string& name) {
        const auto few = net.head(name, groups);
        const auto five =
            net.op(name + "5", "unsqueeze.default", {{"self", few}, {"dim", std::int64_t{2}}},
                   {kB, groups, 1, kT, kD}, {kT * groups * kD, kD, 0, groups * kD, 1});
        const auto wide =
            net.op(name + "w", "expand.default",
                   {{"self", five}, {"size", Ints{kB, groups, repeats, kT, kD}}},
                   {kB, groups, repeats, kT, kD}, {kT * groups * kD, kD, 0, groups * kD, 1});
        const auto copy =
            net.op(name + "c", "clone.default", {{"self", wide}}, {kB, groups, repeats, kT, kD});
        return net.op(name + "v", "_unsafe_view.default",
                      {{"self", copy}, {"size", Ints{kB, kH, kT, kD}}}, {kB, kH, kT, kD});
    };
    const auto k = repeated("few_k");
    net.v = repeated("few_v");
    const auto scores = net.scores(net.q, k);
    net.output(net.mix(net.softmax(scores)));
    const Facts facts(net.graph);
    KnownValues known(net.graph, {});
    auto call = read_attention_chain(net.graph, facts, known, *net.graph[scores].producer);
    ASSERT_TRUE(call);
    read_as_it_lies(net.graph, facts, *call);
    const auto written = write_attention(net.graph, facts, *call, {}, *find_gpu("h200"));
    ASSERT_TRUE(written) << written.error().text();
    EXPECT_EQ(written->pattern.kernel,
              "kernel sdpa(\n"
              "    q: bf16[B, M, G*2, D],\n"
              "    k: bf16[B, N, G, D],\n"
              "    v: bf16[B, N, G, D]\n"
              ") -> (\n"
              "    y: bf16[B, G*2, M, D]\n"
              ") {\n"
              "  t1 = q.view(B, M, G, 2, D).permute(B, G, 2, M, D)\n"
              "  o  = attention(t1, k.permute(B, G, N, D), v.permute(B, G, N, D), scale: 1.0)\n"
              "  y  = o.view(B, G*2, M, D)\n"
              "}\n");
    Diagnostics diagnostics;
    EXPECT_TRUE(dsl::compile(written->pattern.kernel, diagnostics))
        << render_all(diagnostics, "sdpa", written->pattern.kernel);
}

}  // namespace
}  // namespace fact::match
