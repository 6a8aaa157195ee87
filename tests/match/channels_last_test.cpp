// What the layout of a whole graph means for the texts of convolutions.
#include "graph/channels_last.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using Ints = std::vector<std::int64_t>;

struct Chain : Net {
    graph::ValueId convolution(const std::string& name, graph::ValueId x, std::int64_t features) {
        const Ints sizes = graph[x].type->sizes;
        return op(name, "conv2d.default",
                  {{"input", x},
                   {"weight", weight(name + "_w", {features, sizes[1], 3, 3})},
                   {"bias", weight(name + "_b", {features})},
                   {"stride", Ints{1, 1}},
                   {"padding", Ints{1, 1}},
                   {"dilation", Ints{1, 1}},
                   {"groups", std::int64_t{1}}},
                  {sizes[0], features, sizes[2], sizes[3]});
    }
    void keep_layout() { graph = graph::keep_channels_last(graph); }
};

// The first and the last one differ from those between only in what is copied for them.
TEST(ChannelsLastTexts, ConvolutionsOfAChainReadAndWriteChannelsLast) {
    Chain net;
    const auto a = net.pointwise("a", "relu.default",
                                 net.convolution("first", net.input("x", {4, 32, 16, 12}), 64));
    const auto b = net.pointwise("b", "relu.default", net.convolution("second", a, 64));
    net.output(net.convolution("third", b, 64));
    net.keep_layout();
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"c00_conv_add_relu", "c01_conv_add_relu", "c02_conv_add"}));
    EXPECT_EQ(found.patterns[0].kernel.substr(0, found.patterns[0].kernel.find("w:")),
              "kernel conv_add_relu(\n    x: bf16[B, H, W, C],\n    ");
    EXPECT_EQ(body(found.patterns[1]),
              "  t1  = x.window(H: P by R pad 1, W: Q by S pad 1).permute(B, P, Q, R, S, C)\n"
              "  acc = t1.view(B*P*Q, R*S*C) @ w.permute(F, R, S, C).view(F, R*S*C).T\n"
              "  y   = relu(acc.view(B, P, Q, F) + b)\n");
    // The copy back is part of the last one, whose pixels are the product's columns.
    EXPECT_EQ(found.patterns[2].nodes, (Names{"third", "third_channels_first"}));
    EXPECT_NE(body(found.patterns[2]).find("y   = acc.view(B, F, P, Q) + b\n"), std::string::npos)
        << found.patterns[2].kernel;
    EXPECT_EQ(testing::reason_for(found, "x_channels_last"),
              "it only changes the layout in memory, which torch does as fast as memory allows");
}

// What is kept between the stages of a text is channels last too.
TEST(ChannelsLastTexts, PoolingFollowsInTheSameOrder) {
    Chain net;
    const auto a = net.convolution("first", net.input("x", {4, 64, 16, 12}), 64);
    const auto b = net.convolution("second", a, 64);
    const auto pooled =
        net.op("pooled", "max_pool2d.default",
               {{"self", b}, {"kernel_size", Ints{2, 2}}, {"stride", Ints{2, 2}}}, {4, 64, 8, 6});
    net.output(net.convolution("third", pooled, 64));
    net.keep_layout();
    const auto found = net.discover();
    const auto pools = std::ranges::find_if(found.patterns, [](const Pattern& pattern) {
        return pattern.id.find("max_pool") != std::string::npos;
    });
    ASSERT_NE(pools, found.patterns.end());
    EXPECT_EQ(body(*pools),
              "  t1  = x.window(H: P by R pad 1, W: Q by S pad 1).permute(B, P, Q, R, S, C)\n"
              "  acc = t1.view(B*P*Q, R*S*C) @ w.permute(F, R, S, C).view(F, R*S*C).T\n"
              "  t2  = acc.view(B, P, Q, F) + b\n"
              "  t3  = t2.window(P: P2 by T stride 2, Q: Q2 by R2 stride 2, outside: -inf)\n"
              "  y   = max(t3, over: [T, R2])\n");
}

// Its product is not stored after a reduction, but a norm by running statistics reduces nothing.
TEST(ChannelsLastTexts, PlainConvolutionsBeforeABatchNormHaveChannelsAsColumns) {
    Net net;
    const Ints sizes{4, 32, 16, 12}, strides{6144, 1, 384, 32};
    const auto x = net.input("x", sizes, strides);
    const auto y =
        net.op("y", "conv2d.default", {{"input", x}, {"weight", net.weight("w", {32, 32, 1, 1})}},
               sizes, strides);
    const auto norm = net.op("norm", "_native_batch_norm_legit_no_training.default",
                             {{"input", y},
                              {"weight", net.weight("gain", {32})},
                              {"bias", net.weight("shift", {32})},
                              {"running_mean", net.weight("mean", {32})},
                              {"running_var", net.weight("variance", {32})},
                              {"momentum", 0.1},
                              {"eps", 1e-5}},
                             sizes, strides);
    net.output(net.pointwise("z", "relu.default", norm));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(found.patterns[0].kernel.find(".permute("), std::string::npos)
        << found.patterns[0].kernel;
    EXPECT_NE(found.patterns[0].kernel.find("y: bf16[M, N]\n"), std::string::npos)
        << found.patterns[0].kernel;
}

}  // namespace
}  // namespace fact::match
