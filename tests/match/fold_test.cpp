// A norm before a product: beside the two patterns, the one that folds the norm into the product.
#include "match/regions/fold.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using graph::ValueId;
using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::Sizes;

constexpr std::int64_t kB = 2, kT = 40, kK = 192, kN = 96;

struct Normed : Net {
    ValueId x = input("x", {kB, kT, kK});
    ValueId g = weight("g", {kK}), b = weight("b", {kK}), w = weight("w", {kN, kK});

    ValueId layer_norm(const std::string& name, ValueId of, bool gain = true, bool shift = true) {
        std::vector<std::pair<std::string, graph::Argument>> arguments{
            {"input", of}, {"normalized_shape", Sizes{kK}}};
        if (gain) arguments.emplace_back("weight", g);
        if (shift) arguments.emplace_back("bias", b);
        return op(name, "layer_norm.default", std::move(arguments), graph[of].type->sizes);
    }
    ValueId rms_norm(const std::string& name, ValueId of) {
        return op(name, "rms_norm.default",
                  {{"input", of}, {"normalized_shape", Sizes{kK}}, {"weight", g}, {"eps", 1e-6}},
                  graph[of].type->sizes);
    }
    ValueId mean(const std::string& name, ValueId of) {
        return op(name, "mean.dim", {{"self", of}, {"dim", Sizes{-1}}, {"keepdim", true}},
                  {kB, kT, 1});
    }
    ValueId squares(const std::string& name, ValueId of) {
        return op(name, "pow.Tensor_Scalar", {{"self", of}, {"exponent", std::int64_t{2}}},
                  graph[of].type->sizes);
    }
};

TEST(Fold, AnRmsNormIsAFactorOfTheRow) {
    Normed net;
    net.output(net.linear("y", net.rms_norm("n", net.x), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_rms_norm_rows", "p00_linear", "p00b_rms_norm_linear"}));
    const Pattern& p = found.patterns.back();
    EXPECT_EQ(p.nodes, (Names{"n", "y"}));
    EXPECT_EQ(p.inputs, (Names{"x", "g", "w"}));
    EXPECT_EQ(p.params[0].value, "x");
    EXPECT_EQ(p.params[0].dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
    EXPECT_TRUE(p.params[2].constant);
    EXPECT_EQ(p.kernel,
              "kernel rms_norm_linear(x: bf16[M, K], w: bf16[N, K], gain: bf16[K]) -> "
              "(y: bf16[M, N]) {\n"
              "  scaled  = bf16(w * gain)\n"
              "  acc     = x @ scaled.T\n"
              "  inverse = rsqrt(sum(x * x, over: K) / extent(K) + 1e-06)\n"
              "  y       = acc * inverse\n"
              "}\n");
    EXPECT_TRUE(found.left_alone.empty());
}

TEST(Fold, ALayerNormTakesItsMeanAndShiftToTheSums) {
    Normed net;
    net.output(net.linear("y", net.layer_norm("n", net.x), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_layer_norm_rows", "p00_linear", "p00b_layer_norm_linear"}));
    EXPECT_EQ(body(found.patterns.back()),
              "  scaled  = bf16(w * gain)\n"
              "  acc     = x @ scaled.T\n"
              "  center  = sum(x, over: K) / extent(K)\n"
              "  t1      = x - center\n"
              "  inverse = rsqrt(sum(t1 * t1, over: K) / extent(K) + 1e-05)\n"
              "  t2      = (acc - center.expand(M, N) * sum(scaled, over: K)) * inverse\n"
              "  y       = t2 + sum(w * shift, over: K)\n");
}

TEST(Fold, WithoutAGainTheWeightIsUsedAsItIs) {
    Normed net;
    net.output(net.linear("y", net.layer_norm("n", net.x, false, false), net.w));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 3u);
    EXPECT_EQ(body(found.patterns.back()),
              "  acc     = x @ w.T\n"
              "  center  = sum(x, over: K) / extent(K)\n"
              "  t1      = x - center\n"
              "  inverse = rsqrt(sum(t1 * t1, over: K) / extent(K) + 1e-05)\n"
              "  y       = (acc - center.expand(M, N) * sum(w, over: K)) * inverse\n");
}

// A weight times a small gain is no normal number of f16.
TEST(Fold, InF16ANormIsFoldedOnlyWithoutAGain) {
    Normed net;
    for (auto& value : net.graph.values) value.type->dtype = DType::f16;
    net.dtype = DType::f16;
    Normed bare = net;
    net.output(net.linear("y", net.rms_norm("n", net.x), net.w));
    EXPECT_EQ(ids(net.discover()), (Names{"n00_rms_norm_rows", "p00_linear"}));
    bare.output(bare.linear("y", bare.layer_norm("n", bare.x, false, false), bare.w));
    EXPECT_EQ(ids(bare.discover()),
              (Names{"n00_layer_norm_rows", "p00_linear", "p00b_layer_norm_linear"}));
}

// To f32, statistics, back, and a gain that is kept as its distance from one.
TEST(Fold, ANormWrittenOutIsTheSame) {
    Normed net;
    net.dtype = DType::f32;
    const auto wide = net.pointwise("wide", "_to_copy.default", net.x);
    const auto safe =
        net.pointwise("safe", "add.Tensor", net.mean("mean", net.squares("square", wide)), 1e-6);
    const auto normed =
        net.pointwise("normed", "mul.Tensor", wide, net.pointwise("scale", "rsqrt.default", safe));
    const auto gain = net.pointwise("gain", "add.Tensor",
                                    net.pointwise("wide_gain", "_to_copy.default", net.g), 1.0);
    const auto gained = net.pointwise("gained", "mul.Tensor", normed, gain);
    net.dtype = DType::bf16;
    net.output(net.linear("y", net.pointwise("narrow", "_to_copy.default", gained), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_norm_rows", "p00_linear", "p00b_rms_norm_linear"}));
    EXPECT_EQ(found.patterns.back().nodes.size(), 11u);
    EXPECT_EQ(body(found.patterns.back()),
              "  scaled  = bf16(w * (gain + 1.0))\n"
              "  acc     = x @ scaled.T\n"
              "  inverse = rsqrt(sum(x * x, over: K) / extent(K) + 1e-06)\n"
              "  y       = acc * inverse\n");
}

// Centred rows over the root of their variance, by a quotient.
TEST(Fold, ALayerNormWrittenOutIsTheSame) {
    Normed net;
    const auto centred = net.pointwise("centred", "sub.Tensor", net.x, net.mean("mean", net.x));
    const auto variance = net.mean("variance", net.squares("square", centred));
    const auto root =
        net.pointwise("root", "sqrt.default", net.pointwise("safe", "add.Tensor", variance, 1e-5));
    const auto normed = net.pointwise("normed", "div.Tensor", centred, root);
    const auto gained = net.pointwise("gained", "mul.Tensor", normed, net.g);
    net.output(net.linear("y", net.pointwise("n", "add.Tensor", gained, net.b), net.w));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_norm_rows", "p00_linear", "p00b_layer_norm_linear"}));
    Normed other;
    other.output(other.linear("y", other.layer_norm("n", other.x), other.w));
    EXPECT_EQ(found.patterns.back().kernel, other.discover().patterns.back().kernel);
}

// What looks like one at first: rows over the root of something else's mean square, a shift
// before the gain, a mean along something else.
TEST(Fold, OnlyNormsAreFolded) {
    const auto folded = [](auto make) {
        Normed net;
        net.output(net.linear("y", make(net), net.w));
        const auto found = net.discover();
        return found.patterns.back().id.find("norm_linear") != std::string::npos;
    };
    const auto scaled = [](Normed& net, ValueId of, ValueId by) {
        const auto mean = net.mean("mean", net.squares("square", by));
        return net.pointwise("n", "mul.Tensor", of, net.pointwise("r", "rsqrt.default", mean));
    };
    EXPECT_TRUE(folded([&](Normed& net) { return scaled(net, net.x, net.x); }));
    EXPECT_FALSE(folded([&](Normed& net) {
        return scaled(net, net.x, net.pointwise("more", "add.Tensor", net.x, 1.0));
    }));
    EXPECT_FALSE(folded([&](Normed& net) {
        const auto shifted =
            net.pointwise("shifted", "add.Tensor", scaled(net, net.x, net.x), net.b);
        return net.pointwise("gained", "mul.Tensor", shifted, net.g);
    }));
    EXPECT_FALSE(folded([&](Normed& net) {
        return net.pointwise("act", "relu.default", scaled(net, net.x, net.x));
    }));
}

TEST(Fold, TheEpilogueIsTheProducts) {
    Normed net;
    const auto normed = net.rms_norm("n", net.x);
    const auto up = net.op("up", "linear.default",
                           {{"input", normed}, {"weight", net.w}, {"bias", net.weight("c", {kN})}},
                           {kB, kT, kN});
    const auto act = net.op("act", "gelu.default",
                            {{"self", up}, {"approximate", std::string("tanh")}}, {kB, kT, kN});
    net.output(net.pointwise("y", "add.Tensor", act, net.input("r", {kB, kT, kN})));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"n00_rms_norm_rows", "p00_linear_bias_gelu_residual",
                                 "p00b_rms_norm_linear_bias_gelu_residual"}));
    EXPECT_EQ(body(found.patterns.back()),
              "  scaled  = bf16(w * gain)\n"
              "  acc     = x @ scaled.T\n"
              "  inverse = rsqrt(sum(x * x, over: K) / extent(K) + 1e-06)\n"
              "  y       = gelu_tanh(acc * inverse + bias) + residual\n");
}

// Both products of a gate have the same rows.
TEST(Fold, AGateHasTwoWeightsAndOneFactor) {
    Normed net;
    const auto normed = net.rms_norm("n", net.x);
    const auto gate = net.linear("gate", normed, net.w);
    const auto up = net.linear("up", normed, net.weight("v", {kN, kK}));
    net.output(net.pointwise("y", "mul.Tensor", net.pointwise("act", "silu.default", gate), up));
    const auto found = net.discover();
    ASSERT_EQ(ids(found),
              (Names{"n00_rms_norm_rows", "p00_linear_silu_mul", "p00b_rms_norm_linear_silu_mul"}));
    EXPECT_EQ(found.patterns.back().nodes, (Names{"n", "gate", "up", "act", "y"}));
    EXPECT_EQ(body(found.patterns.back()),
              "  scaled  = bf16(w * gain)\n"
              "  acc     = x @ scaled.T\n"
              "  inverse = rsqrt(sum(x * x, over: K) / extent(K) + 1e-06)\n"
              "  scaled2 = bf16(w2 * gain)\n"
              "  acc2    = x @ scaled2.T\n"
              "  y       = silu(acc * inverse) * (acc2 * inverse)\n");
}

TEST(Fold, HalvesOfOneWeightAreTwo) {
    Normed net;
    const auto wide = net.linear("wide", net.rms_norm("n", net.x), net.weight("v", {2 * kN, kK}));
    net.output(
        net.op("y", "glu.default", {{"self", wide}, {"dim", std::int64_t{-1}}}, {kB, kT, kN}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found),
              (Names{"n00_rms_norm_rows", "p00_linear_glu", "p00b_rms_norm_linear_glu"}));
    const Pattern& p = found.patterns.back();
    EXPECT_NE(p.kernel.find("scaled2 = bf16(w2 * gain)"), std::string::npos) << p.kernel;
    EXPECT_EQ(p.params[2].half, (graph::Half{0, 1, false}));
}

// As GPT-2 has it: rows put together before the product, a weight stored by columns.
TEST(Fold, ThroughAView) {
    Normed net;
    const auto flat =
        net.op("flat", "view.default",
               {{"self", net.layer_norm("n", net.x)}, {"size", Sizes{kB * kT, kK}}}, {kB * kT, kK});
    net.output(net.op("y", "addmm.default",
                      {{"self", net.weight("c", {kN})},
                       {"mat1", flat},
                       {"mat2", net.weight("columns", {kK, kN})}},
                      {kB * kT, kN}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found),
              (Names{"n00_layer_norm_rows", "p00_matmul_bias", "p00b_layer_norm_matmul_bias"}));
    const Pattern& p = found.patterns.back();
    EXPECT_EQ(p.nodes, (Names{"n", "flat", "y"}));
    EXPECT_EQ(p.params[0].value, "x");
    EXPECT_EQ(p.params[0].dims, (std::vector<std::vector<int>>{{0, 1}, {2}}));
    EXPECT_EQ(body(p),
              "  scaled  = bf16(b * gain)\n"
              "  acc     = a @ scaled\n"
              "  center  = sum(a, over: K) / extent(K)\n"
              "  t1      = a - center\n"
              "  inverse = rsqrt(sum(t1 * t1, over: K) / extent(K) + 1e-05)\n"
              "  t2      = (acc - center.expand(M, N) * sum(scaled, over: K)) * inverse\n"
              "  y       = t2 + sum(b * shift, over: K) + bias\n");
}

// The product must be all that reads the norm, weights must be constant, and 16 bits.
// A gain of one number is no vector along the row: the norm keeps its kernel.
TEST(Fold, AGainOfOneNumberIsNotFolded) {
    Normed net;
    const auto variance = net.mean("variance", net.squares("squares", net.x));
    const auto inverse = net.pointwise("inverse", "rsqrt.default",
                                       net.pointwise("safe", "add.Tensor", variance, 1e-6));
    const auto n = net.pointwise("n", "mul.Tensor", net.x, inverse);
    const auto scaled = net.pointwise("scaled", "mul.Tensor", n, net.weight("one", {}));
    net.output(net.linear("y", scaled, net.w));
    for (const auto& id : ids(net.discover())) EXPECT_EQ(id.find("p00b"), std::string::npos) << id;
}

TEST(Fold, OthersKeepTheirNorm) {
    const auto patterns = [](auto make) {
        Normed net;
        make(net);
        return net.discover().patterns.size();
    };
    EXPECT_EQ(patterns([](Normed& net) {
                  const auto n = net.rms_norm("n", net.x);
                  net.output(net.linear("y", n, net.w));
                  net.output(net.linear("z", n, net.w));
              }),
              3u);
    EXPECT_EQ(patterns([](Normed& net) {
                  const auto n = net.rms_norm("n", net.x);
                  net.output(net.linear("y", n, net.w));
                  net.output(n);
              }),
              2u);
    EXPECT_EQ(patterns([](Normed& net) {
                  net.output(net.linear("y", net.rms_norm("n", net.x), net.input("v", {kN, kK})));
              }),
              2u);
    EXPECT_EQ(patterns([](Normed& net) {
                  const auto n = net.rms_norm("n", net.x);
                  const auto y = net.linear("y", n, net.weight("v", {kK, kK}));
                  net.output(net.pointwise("z", "add.Tensor", y, n));
              }),
              2u);
    EXPECT_EQ(patterns([](Normed& net) {
                  net.g = net.input("given", {kK});
                  net.output(net.linear("y", net.rms_norm("n", net.x), net.w));
              }),
              2u);
    EXPECT_EQ(patterns([](Normed& net) {
                  net.dtype = DType::f32;
                  net.x = net.input("wide", {kB, kT, kK});
                  net.g = net.weight("wide_gain", {kK});
                  net.output(net.linear("y", net.rms_norm("n", net.x), net.weight("v", {kN, kK})));
              }),
              2u);
}

// A sum that the norm's own kernel computes along is left to it; that of another product is not.
TEST(Fold, TheSumBeforeItIsComputedOnce) {
    Normed net;
    const auto sum = net.pointwise("sum", "add.Tensor", net.x, net.input("r", {kB, kT, kK}));
    net.output(net.linear("y", net.rms_norm("n", sum), net.w));
    net.output(sum);
    EXPECT_EQ(ids(net.discover()), (Names{"n00_add_rms_norm_rows", "p00_linear"}));

    Normed block;
    const auto before = block.linear("before", block.x, block.weight("v", {kK, kK}));
    const auto stream = block.pointwise("stream", "add.Tensor", block.x, before);
    block.output(block.linear("y", block.rms_norm("n", stream), block.w));
    block.output(stream);
    EXPECT_EQ(ids(block.discover()), (Names{"p00_linear_residual", "n00_rms_norm_rows",
                                            "p01_linear", "p01b_rms_norm_linear"}));
}

// Rows, weights and vectors are read once, and nothing is between; once they have run, stages that
// only read weights cost nothing.
TEST(Fold, TheBoundCountsNoIntermediate) {
    Normed net;
    net.output(net.linear("y", net.rms_norm("n", net.x), net.w));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 3u);
    const Cost& cost = found.patterns.back().cost;
    EXPECT_EQ(cost.bytes, 2 * (kB * kT * kK + kN * kK + kK + kB * kT * kN));
    EXPECT_EQ(cost.flops, 2.0 * kB * kT * kN * kK);
    EXPECT_DOUBLE_EQ(cost.unfused_us,
                     found.patterns[0].cost.unfused_us + found.patterns[1].cost.unfused_us);
}

}  // namespace
}  // namespace fact::match
