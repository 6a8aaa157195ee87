// Transposed convolutions: how they are read, and as which texts they are written.
#include <gtest/gtest.h>

#include "graph/windows.h"
#include "graphs.h"

namespace fact::match {
namespace {

using testing::body;
using testing::ids;
using testing::Names;
using testing::Net;
using Ints = std::vector<std::int64_t>;
using Arguments = std::vector<std::pair<std::string, graph::Argument>>;

// One of 8 channels into 16 features, with an activation after it.
struct Upsampled : Net {
    graph::ValueId y{};
    Upsampled(Ints kernel, std::int64_t stride, std::int64_t padding, Ints result,
              Arguments more = {}) {
        dtype = DType::f32;
        const auto x = input("x", {2, 8, 12, 10});
        const auto w = weight("w", {8, 16, kernel[0], kernel[1]}), b = weight("b", {16});
        Arguments arguments{{"input", x},
                            {"weight", w},
                            {"bias", b},
                            {"stride", Ints{stride, stride}},
                            {"padding", Ints{padding, padding}}};
        arguments.insert(arguments.end(), more.begin(), more.end());
        y = op("y", "conv_transpose2d.input", arguments, {2, 16, result[0], result[1]});
        output(pointwise("z", "relu.default", y));
    }
    Result<graph::Windows> windows() const {
        return graph::read_windows(graph, graph.nodes.front());
    }
};

TEST(Transposed, IsReadAsItsArgumentsSay) {
    const auto read = Upsampled({3, 3}, 2, 1, {24, 20}).windows();
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->kind, graph::WindowKind::convolution);
    EXPECT_TRUE(read->transposed);
    ASSERT_EQ(read->dims.size(), 2u);
    EXPECT_EQ(read->dims[1].dim, 3u);
    EXPECT_EQ(read->dims[1].taps, 3);
    EXPECT_EQ(read->dims[1].stride, 2);
    EXPECT_EQ(read->dims[1].before, 1);
    EXPECT_EQ(read->dims[1].places, 20);
}

TEST(Transposed, WithoutAStrideIsAConvolutionWithWeightsBackwards) {
    const auto found = Upsampled({3, 4}, 1, 1, {12, 11}).discover();
    ASSERT_EQ(ids(found), Names{"c00_conv_add_relu"});
    EXPECT_EQ(body(found.patterns[0]),
              "  t2  = flip(flip(w, over: R), over: S).permute(F, R, S, C).view(F, R*S*C)\n"
              "  t1  = x.window(H: P by R pad 1, W: Q by S pad 2).permute(B, R, S, C, P, Q)\n"
              "  acc = t2 @ t1.view(B, R*S*C, P*Q)\n"
              "  y   = relu(acc.view(B, F, P, Q) + b)\n");
    EXPECT_TRUE(found.patterns[0].convolution);
}

// Each place has a result of every phase; their weights take turns.
TEST(Transposed, PhasesAreColumnsOfOneProduct) {
    const auto found = Upsampled({3, 3}, 2, 1, {24, 20}).discover();
    ASSERT_EQ(ids(found), Names{"c00_conv_add_relu"});
    EXPECT_EQ(
        body(found.patterns[0]),
        "  t2            = x.window(H: I by U pad 0 1, W: I2 by U2 pad 0 1)\n"
        "  stored phases = w.window(R: A by U dilation 2 pad 1 0, S: A2 by U2 dilation 2 pad 1 0)\n"
        "  t1            = flip(flip(phases, over: U), over: U2).permute(F, A, A2, U, U2, C)\n"
        "  t3            = t2.permute(B, U, U2, C, I, I2).view(B, U*U2*C, I*I2)\n"
        "  acc           = t1.view(F*A*A2, U*U2*C) @ t3\n"
        "  t4            = acc.view(B, F, A, A2, I, I2).permute(B, F, I, A, I2, A2)\n"
        "  y             = relu(t4.view(B, F, P, Q) + b)\n");
}

// Without an output padding, the last place has no result of the last phase.
TEST(Transposed, WhatTorchDoesNotHaveIsCutOff) {
    const auto found = Upsampled({4, 3}, 2, 1, {24, 19}).discover();
    ASSERT_EQ(ids(found), Names{"c00_conv_add_relu"});
    EXPECT_EQ(
        body(found.patterns[0]),
        "  t2            = x.window(H: I by U pad 1, W: I2 by U2 pad 0 1)\n"
        "  stored phases = w.window(R: A by U dilation 2, S: A2 by U2 dilation 2 pad 1 0)\n"
        "  t1            = flip(flip(phases, over: U), over: U2).permute(F, A, A2, U, U2, C)\n"
        "  t3            = t2.permute(B, U, U2, C, I, I2).view(B, U*U2*C, I*I2)\n"
        "  acc           = t1.view(F*A*A2, U*U2*C) @ t3\n"
        "  t4            = acc.view(B, F, A, A2, I, I2).permute(B, F, I, A, I2, A2)\n"
        "  t5            = t4.view(B, F, I*A, I2*A2)\n"
        "  t6            = t5.window(I*A: P by E pad -1, I2*A2: Q by E2 pad 0 -1)\n"
        "  y             = relu(max(t6, over: [E, E2]) + b)\n");
}

// Results of different elements do not meet: nothing is seen through windows.
TEST(Transposed, TapsThatDoNotOverlapAreAProductOfTheTensorItself) {
    const auto found = Upsampled({2, 2}, 2, 0, {24, 20}).discover();
    ASSERT_EQ(ids(found), Names{"c00_conv_add_relu"});
    EXPECT_EQ(body(found.patterns[0]),
              "  acc = w.permute(F, R, S, C).view(F*R*S, C) @ x.view(B, C, H*W)\n"
              "  t1  = acc.view(B, F, R, S, H, W).permute(B, F, H, R, W, S).view(B, F, P, Q)\n"
              "  y   = relu(t1 + b)\n");
}

TEST(Transposed, TheGeneralOperatorIsTheSame) {
    Upsampled net({3, 3}, 2, 1, {24, 20}), general({3, 3}, 2, 1, {24, 20}, {{"transposed", true}});
    general.graph.nodes.front().target = "aten.convolution.default";
    EXPECT_EQ(body(general.discover().patterns.at(0)), body(net.discover().patterns.at(0)));
}

TEST(Transposed, TapsApartStayApartInOnePhase) {
    const auto found = Upsampled({3, 3}, 1, 1, {14, 12}, {{"dilation", Ints{2, 2}}}).discover();
    EXPECT_NE(body(found.patterns.at(0)).find("H: P by R dilation 2 pad 3"), std::string::npos)
        << body(found.patterns.at(0));
}

TEST(Transposed, WhatIsLeftAloneHasAReason) {
    const auto reason = [](Upsampled net) { return testing::reason_for(net.discover(), "y"); };
    EXPECT_EQ(reason(Upsampled({3, 3}, 1, 1, {12, 10}, {{"groups", std::int64_t{8}}})),
              "transposed convolutions of groups of channels are left to torch");
    EXPECT_EQ(reason(Upsampled({3, 3}, 2, 3, {19, 15})),
              "its padding is longer than its weights reach");
    EXPECT_EQ(reason(Upsampled({1, 1}, 2, 0, {23, 19})),
              "its weights leave results without a term");
}

}  // namespace
}  // namespace fact::match
