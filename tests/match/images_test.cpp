// Convolutions together with what computes their images.
#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using testing::Sizes;
using Ints = std::vector<std::int64_t>;

const Sizes kSizes{4, 64, 32, 32};

struct Images : Net {
    Images() { dtype = DType::f32; }
    graph::ValueId x = (dtype = DType::f32, input("x", kSizes));

    // The batch norm of the value, by the statistics of the batch.
    graph::ValueId norm(const std::string& name, graph::ValueId of) {
        const auto result = op(name, "_native_batch_norm_legit.no_stats",
                               {{"input", of},
                                {"weight", weight(name + "_gain", {64})},
                                {"bias", weight(name + "_shift", {64})},
                                {"training", true},
                                {"momentum", 0.1},
                                {"eps", 1e-5}},
                               kSizes);
        also(result, name + "_mean", {64});
        also(result, name + "_inverse", {64});
        return result;
    }
    // The running mean of the norm, updated.
    void update(graph::ValueId norm) {
        const auto running = input("running", {64}, {}, graph::InputKind::buffer);
        const auto mean = graph[*graph[norm].producer].outputs[1];
        const auto updated =
            op("update", "lerp.Scalar", {{"self", running}, {"end", mean}, {"weight", 0.1}}, {64});
        graph.outputs.push_back({.value = updated, .fixed = graph::None{}, .mutates = "running"});
    }
    graph::ValueId convolution(const std::string& name, graph::ValueId of, std::int64_t taps = 3) {
        return op(name, "conv2d.default",
                  {{"input", of},
                   {"weight", weight(name + "_w", {64, 64, taps, taps})},
                   {"bias", graph::None{}},
                   {"stride", Ints{1, 1}},
                   {"padding", Ints{taps / 2, taps / 2}},
                   {"dilation", Ints{1, 1}},
                   {"groups", std::int64_t{1}}},
                  kSizes);
    }
    Discovery found() {
        Options options;
        options.tf32 = {true};
        return discover(options);
    }
};

TEST(Images, OfABatchNormAreComputedWithTheirConvolution) {
    Images net;
    const auto norm = net.norm("norm", net.x);
    net.update(norm);
    net.output(net.convolution("y", net.pointwise("active", "relu.default", norm)));
    const auto found = net.found();
    ASSERT_EQ(ids(found),
              (Names{"o00_rows_batch_norm_relu", "c00_conv", "c01_conv_of_batch_norm_relu"}));
    const Pattern& pattern = found.patterns.back();
    EXPECT_EQ(body(pattern),
              "  t1  = sum(x, over: [B, H, W]) / extent(B*H*W)\n"
              "  t2  = x - t1\n"
              "  t3  = t2 * rsqrt(sum(t2 * t2, over: [B, H, W]) / extent(B*H*W) + 1e-05)\n"
              "  y2  = side + (t1 - side) * 0.1\n"
              "  t4  = relu(t3 * weight + bias).window(H: P by R pad 1, W: Q by S pad 1)\n"
              "  t5  = t4.permute(B, R, S, C, P, Q).view(B, R*S*C, P*Q)\n"
              "  acc = matmul(w.permute(F, R, S, C).view(F, R*S*C), t5, precision: tf32)\n"
              "  y   = acc.view(B, F, P, Q)\n");
    EXPECT_EQ(pattern.outputs, (Names{"y", "update"}));
    EXPECT_EQ(pattern.nodes, (Names{"norm", "update", "active", "y"}));
    EXPECT_TRUE(pattern.convolution);
    EXPECT_LT(pattern.cost.expected_us,
              found.patterns[0].cost.unfused_us + found.patterns[1].cost.expected_us);
}

TEST(Images, AResidualIsReadWhereTheyAreStored) {
    Images net;
    const auto other = net.input("other", kSizes);
    const auto sum = net.pointwise("sum", "add.Tensor", net.norm("norm", net.x), other);
    net.output(net.convolution("y", net.pointwise("active", "relu.default", sum)));
    const auto found = net.found();
    ASSERT_EQ(ids(found), (Names{"o00_rows_batch_norm_residual_relu", "c00_conv",
                                 "c01_conv_of_batch_norm_residual_relu"}));
    EXPECT_NE(body(found.patterns.back()).find("t3  = relu(t2 * weight + bias + residual)\n"),
              std::string::npos)
        << found.patterns.back().kernel;
}

TEST(Images, OfPointwiseOperatorsAreComputedWithTheirConvolution) {
    Images net;
    net.output(net.convolution("y", net.pointwise("active", "silu.default", net.x)));
    const auto found = net.found();
    ASSERT_EQ(ids(found), (Names{"c00_conv", "c01_conv_of_silu"}));
    EXPECT_NE(body(found.patterns.back()).find("silu(x).window"), std::string::npos);
}

TEST(Images, BetweenConvolutionsGoWithTheSecondIfTheyAreNormalised) {
    for (const bool normalised : {false, true}) {
        Images net;
        auto between = net.convolution("first", net.x);
        if (normalised) between = net.norm("norm", between);
        net.output(net.convolution("y", net.pointwise("active", "relu.default", between)));
        const Names all = ids(net.found());
        const bool taken = std::ranges::count(all, "c03_conv_of_batch_norm_relu") > 0;
        EXPECT_EQ(taken, normalised) << testing::ids(net.found()).back();
        EXPECT_EQ(all.size(), normalised ? 5u : 2u);
    }
}

TEST(Images, ThatOthersReadAreStored) {
    Images net;
    const auto active = net.pointwise("active", "relu.default", net.norm("norm", net.x));
    net.output(net.convolution("y", active));
    net.output(active);
    EXPECT_EQ(ids(net.found()), (Names{"o00_rows_batch_norm_relu", "c00_conv"}));
}

// A plain product reads its images as they are, which only f16 numbers of them are better than.
TEST(Images, OfPlainProductsAreComputedWithThemIfTheyAreNormalised) {
    for (const bool normalised : {false, true}) {
        Images net;
        const auto images = normalised ? net.norm("norm", net.x) : net.x;
        const auto active = net.pointwise("active", "silu.default", images);
        net.output(net.convolution("y", active, 1));
        const auto found = net.found();
        const bool taken = ids(found).back() == "c00_conv_of_batch_norm_silu";
        EXPECT_EQ(taken, normalised) << ids(found).back();
        const bool multiplies = body(found.patterns.back()).find("matmul(w, ") != std::string::npos;
        EXPECT_EQ(multiplies, normalised) << found.patterns.back().kernel;
    }
}

// What is stored before a product in 16 bits has torch's rounding.
TEST(Images, AreRoundedAsTorchDoes) {
    Images net;
    net.dtype = DType::bf16;
    const auto x = net.input("half", kSizes);
    net.output(net.convolution("y", net.pointwise("active", "silu.default", x)));
    const auto found = net.found();
    ASSERT_EQ(ids(found), (Names{"c00_conv", "c01_conv_of_silu"}));
    EXPECT_NE(body(found.patterns.back()).find("bf16(silu(x)).window"), std::string::npos)
        << found.patterns.back().kernel;
}

}  // namespace
}  // namespace fact::match
