// Masks of attention: what is proved, what is a bias, and what one is made of.
#include <gtest/gtest.h>

#include "dsl/dsl.h"
#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "heads.h"
#include "match/attention/write.h"

namespace fact::match {
namespace {

using graph::None;
using graph::ValueId;
using namespace testing;
using testing::Names;

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
    const auto found = net.discover();
    const auto rows = std::ranges::find(found.patterns, "rows", &Pattern::rule);
    ASSERT_NE(rows, found.patterns.end());
    EXPECT_EQ(rows->nodes, (Names{"number", "absent", "low"}));
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

// A softmax over one number is 1: there is nothing to attend to.
TEST(Attention, OverASingleKeyItIsLeft) {
    Net net;
    const auto q = net.input("q", {kB, kH, 1, kD}), k = net.input("k", {kB, kH, 1, kD});
    const auto v = net.input("v", {kB, kH, 1, kD});
    net.output(net.op("o", "scaled_dot_product_attention.default",
                      {{"query", q}, {"key", k}, {"value", v}}, {kB, kH, 1, kD}));
    const auto found = discover(net.graph, {});
    ASSERT_TRUE(found.patterns.empty());
    ASSERT_EQ(found.left_alone.size(), 1u);
    EXPECT_EQ(found.left_alone.front().reason, "attention over a single key is left to torch");
}

}  // namespace
}  // namespace fact::match
