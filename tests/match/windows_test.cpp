// Pooling and convolutions: how their windows are read, and as which texts they are written.
#include "graph/windows.h"

#include <gtest/gtest.h>

#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using Ints = std::vector<std::int64_t>;

struct Picture : Net {
    Picture() { dtype = DType::f32; }
    graph::ValueId x = (dtype = DType::f32, input("x", {2, 24, 16, 12}));
};

TEST(Windows, PoolingIsAMaximumOverTaps) {
    Picture net;
    const auto active = net.pointwise("active", "relu.default", net.x);
    net.output(net.op("y", "max_pool2d.default",
                      {{"self", active},
                       {"kernel_size", Ints{3, 3}},
                       {"stride", Ints{2, 2}},
                       {"padding", Ints{1, 1}}},
                      {2, 24, 8, 6}));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_relu_max_pool"});
    EXPECT_EQ(
        body(found.patterns[0]),
        "  t1 = relu(x)\n"
        "  t2 = t1.window(H: P by R stride 2 pad 1, W: Q by S stride 2 pad 1, outside: -inf)\n"
        "  y  = max(t2, over: [R, S])\n");
}

TEST(Windows, OneWindowOverAllIsAReduction) {
    Picture net;
    net.output(net.op("y", "adaptive_avg_pool2d.default",
                      {{"self", net.x}, {"output_size", Ints{1, 1}}}, {2, 24, 1, 1}));
    const auto found = net.discover();
    ASSERT_EQ(found.patterns.size(), 1u);
    EXPECT_EQ(found.patterns[0].kernel.find("window"), std::string::npos)
        << found.patterns[0].kernel;
}

TEST(Windows, AveragesThatCountWhatIsInsideAreTorchs) {
    Picture net;
    net.output(net.op("y", "avg_pool2d.default",
                      {{"self", net.x},
                       {"kernel_size", Ints{3, 3}},
                       {"stride", Ints{1, 1}},
                       {"padding", Ints{1, 1}},
                       {"count_include_pad", false}},
                      {2, 24, 16, 12}));
    EXPECT_EQ(testing::reason_for(net.discover(), "y"),
              "it divides by the elements inside, which differ from place to place");
}

TEST(Windows, ChannelsByThemselvesAreSums) {
    Picture net;
    const auto w = net.weight("w", {24, 1, 3, 3}), b = net.weight("b", {24});
    const auto y = net.op("y", "conv2d.default",
                          {{"input", net.x},
                           {"weight", w},
                           {"bias", b},
                           {"stride", Ints{1, 1}},
                           {"padding", Ints{1, 1}},
                           {"dilation", Ints{1, 1}},
                           {"groups", std::int64_t{24}}},
                          {2, 24, 16, 12});
    net.output(net.pointwise("z", "silu.default", y));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"o00_rows_depthwise_add_silu"});
    EXPECT_NE(body(found.patterns[0]).find("* w, over: [R, S]"), std::string::npos)
        << found.patterns[0].kernel;
}

// A single tap is a window only where it skips pixels; no weight has a dimension for it.
TEST(Windows, OneTapOfADepthwiseConvolution) {
    for (const std::int64_t stride : {1, 2}) {
        Picture net;
        const auto w = net.weight("w", {24, 1, 3, 1});
        const auto y = net.op("y", "conv2d.default",
                              {{"input", net.x},
                               {"weight", w},
                               {"stride", Ints{1, stride}},
                               {"padding", Ints{1, 0}},
                               {"dilation", Ints{1, 1}},
                               {"groups", std::int64_t{24}}},
                              {2, 24, 16, 12 / stride});
        net.output(net.pointwise("z", "silu.default", y));
        const auto found = net.discover();
        ASSERT_EQ(ids(found), Names{"o00_rows_depthwise_silu"});
        const std::string text = body(found.patterns[0]);
        EXPECT_EQ(text.find("W:") != std::string::npos, stride == 2) << text;
    }
}

// Pixels are contiguous in memory, so they are the product's columns.
TEST(Windows, AConvolutionIsAProduct) {
    Picture net;
    const auto w = net.weight("w", {32, 24, 3, 3}), b = net.weight("b", {32});
    const auto y = net.op("y", "conv2d.default",
                          {{"input", net.x},
                           {"weight", w},
                           {"bias", b},
                           {"stride", Ints{2, 2}},
                           {"padding", Ints{1, 1}},
                           {"dilation", Ints{1, 1}},
                           {"groups", std::int64_t{1}}},
                          {2, 32, 8, 6});
    net.output(net.pointwise("z", "relu.default", y));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), Names{"c00_conv_add_relu"});
    EXPECT_EQ(body(found.patterns[0]),
              "  t1  = x.window(H: P by R stride 2 pad 1, W: Q by S stride 2 pad 1)\n"
              "  t2  = t1.permute(B, R, S, C, P, Q).view(B, R*S*C, P*Q)\n"
              "  acc = w.permute(F, R, S, C).view(F, R*S*C) @ t2\n"
              "  y   = relu(acc.view(B, F, P, Q) + b)\n");
    EXPECT_TRUE(found.patterns[0].convolution);
}

// Where our convolution may be slower than torch's, what follows it is offered without it, too.
TEST(Windows, WhatFollowsAConvolutionIsAnAlternative) {
    Picture net;
    const auto y = net.op("y", "conv2d.default",
                          {{"input", net.x},
                           {"weight", net.weight("w", {32, 24, 3, 3})},
                           {"bias", net.weight("b", {32})},
                           {"stride", Ints{2, 2}},
                           {"padding", Ints{1, 1}},
                           {"dilation", Ints{1, 1}},
                           {"groups", std::int64_t{1}}},
                          {2, 32, 8, 6});
    const auto active = net.pointwise("active", "silu.default", y);
    net.output(net.pointwise("z", "tanh.default", active));
    const auto found = net.discover();
    ASSERT_EQ(ids(found), (Names{"c00_conv_add_silu_tanh", "o00_rows_silu_tanh"}));
    EXPECT_EQ(body(found.patterns[1]), "  y = tanh(silu(x))\n");
}

// cuDNN does not use TF32 with few channels.
TEST(Windows, FewChannelsKeepF32) {
    const auto text = [](std::int64_t channels) {
        Net net;
        net.dtype = DType::f32;
        const auto x = net.input("x", {2, channels, 16, 12});
        net.output(net.op("y", "conv2d.default",
                          {{"input", x},
                           {"weight", net.weight("w", {32, channels, 3, 3})},
                           {"bias", net.weight("b", {32})},
                           {"stride", Ints{1, 1}},
                           {"padding", Ints{1, 1}},
                           {"dilation", Ints{1, 1}},
                           {"groups", std::int64_t{1}}},
                          {2, 32, 16, 12}));
        return net.discover({.tf32 = true}).patterns.at(0).kernel;
    };
    EXPECT_EQ(text(8).find("tf32"), std::string::npos);
    EXPECT_NE(text(16).find("tf32"), std::string::npos);
}

// What follows a convolution sees its results through windows again, and all is one text.
TEST(Windows, WindowsOfWindows) {
    Picture net;
    const auto w = net.weight("w", {32, 24, 3, 3});
    const auto y =
        net.op("y", "conv2d.default", {{"input", net.x}, {"weight", w}}, {2, 32, 14, 10});
    const auto pooled = net.op("pooled", "avg_pool2d.default",
                               {{"self", y}, {"kernel_size", Ints{2, 2}}}, {2, 32, 7, 5});
    net.output(net.op("sum", "sum.dim_IntList", {{"self", pooled}, {"dim", Ints{1, 2, 3}}}, {2}));
    const auto found = net.discover();
    ASSERT_FALSE(found.patterns.empty());
    EXPECT_EQ(body(found.patterns[0]),
              "  t1  = x.window(H: P by R, W: Q by S).permute(B, R, S, C, P, Q)\n"
              "  acc = w.permute(F, R, S, C).view(F, R*S*C) @ t1.view(B, R*S*C, P*Q)\n"
              "  t2  = acc.view(B, F, P, Q).window(P: P2 by T stride 2, Q: Q2 by R2 stride 2)\n"
              "  y   = sum(sum(t2, over: [T, R2]) / 4.0, over: [F, P2, Q2])\n");
}

TEST(Windows, GroupsOfChannelsAreTorchs) {
    Picture net;
    const auto w = net.weight("w", {24, 12, 3, 3});
    net.output(net.op("y", "conv2d.default",
                      {{"input", net.x}, {"weight", w}, {"groups", std::int64_t{2}}},
                      {2, 24, 14, 10}));
    EXPECT_EQ(testing::reason_for(net.discover(), "y"),
              "convolutions of groups of channels are left to torch");
}

}  // namespace
}  // namespace fact::match
