// Attention in its spellings: what is taken, how it is written, and what is left as it is.
#include <gtest/gtest.h>

#include "dsl/dsl.h"
#include "graph/canonical.h"
#include "graph/pt2_archive.h"
#include "heads.h"
#include "match/attention/write.h"
#include "test_data.h"

namespace fact::match {
namespace {

using graph::None;
using graph::ValueId;
using namespace testing;
using testing::Names;

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
        const auto found = net.discover({.tf32 = allow_tf32});
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
    look_through_movement(net.graph, facts, *call);
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

// What nothing steps along has no stride that could be odd.
TEST(Attention, ASingleQueryIsAsAlignedAsItsRows) {
    Net net;
    const auto q = net.input("q", {kB, kH, 1, kD}), k = net.input("k", {kB, kH, kT, kD}),
               v = net.input("v", {kB, kH, kT, kD});
    net.output(net.op("o", "scaled_dot_product_attention.default",
                      {{"query", q}, {"key", k}, {"value", v}}, {kB, kH, 1, kD}));
    const auto found = net.discover();
    const Pattern* pattern = attention(found);
    ASSERT_TRUE(pattern);
    for (const auto* bindings : {&pattern->params, &pattern->results})
        for (const auto& binding : *bindings) EXPECT_EQ(binding.alignment, 16) << binding.tensor;
}

}  // namespace
}  // namespace fact::match
