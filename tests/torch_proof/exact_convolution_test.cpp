// Convolutions as one product for each tap, beside torch's own.
#include "torch/exact_convolution.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace fact::exec {
namespace {

using Sizes = std::vector<std::int64_t>;

double largest_difference(const Sizes& images, const Sizes& weight,
                          const ConvolutionOptions& options, bool with_bias = true) {
    at::manual_seed(1);
    const auto x = at::randn(images, at::kDouble), w = at::randn(weight, at::kDouble);
    std::optional<at::Tensor> bias;
    if (with_bias)
        bias =
            at::randn({options.transposed ? weight[1] * options.groups : weight[0]}, at::kDouble);
    const auto expected =
        at::convolution(x, w, bias, options.stride, options.padding, options.dilation,
                        options.transposed, options.output_padding, options.groups);
    const auto actual = convolution_by_taps(x, w, bias, options);
    EXPECT_EQ(actual.sizes(), expected.sizes());
    return actual.sub(expected).abs().max().item<double>();
}

TEST(ExactConvolution, Plain) {
    EXPECT_LT(largest_difference({2, 3, 9, 8}, {4, 3, 3, 2}, {{1, 1}, {0, 0}, {1, 1}, {0, 0}}),
              1e-12);
}

TEST(ExactConvolution, StepsPaddingAndDilation) {
    EXPECT_LT(largest_difference({2, 3, 12, 11}, {4, 3, 3, 3}, {{2, 3}, {2, 1}, {2, 1}, {0, 0}}),
              1e-12);
    EXPECT_LT(largest_difference({2, 3, 17}, {4, 3, 5}, {{2}, {3}, {2}, {0}}, false), 1e-12);
}

TEST(ExactConvolution, ThreeDimensionsAndGroups) {
    EXPECT_LT(largest_difference({2, 6, 5, 6, 7}, {4, 3, 3, 2, 1},
                                 {{1, 2, 1}, {1, 0, 1}, {1, 1, 1}, {0, 0, 0}, false, 2}),
              1e-12);
}

TEST(ExactConvolution, OneNumberForAllDimensions) {
    const auto x = at::randn({1, 2, 6, 6}, at::kDouble), w = at::randn({3, 2, 3, 3}, at::kDouble);
    const auto all = convolution_by_taps(x, w, std::nullopt, {{2}, {1}, {1}, {0}});
    EXPECT_TRUE(
        all.equal(convolution_by_taps(x, w, std::nullopt, {{2, 2}, {1, 1}, {1, 1}, {0, 0}})));
}

TEST(ExactConvolution, Transposed) {
    EXPECT_LT(
        largest_difference({2, 3, 5, 6}, {3, 4, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {1, 1}, true}),
        1e-12);
    EXPECT_LT(largest_difference({2, 4, 3, 4, 5}, {4, 3, 3, 2, 4},
                                 {{1, 2, 3}, {0, 1, 2}, {2, 1, 1}, {0, 1, 2}, true, 2}),
              1e-12);
}

}  // namespace
}  // namespace fact::exec
