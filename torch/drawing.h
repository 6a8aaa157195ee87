// Random inputs to try a call with.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "torch/executor.h"
#include "verify/integers.h"

namespace fact::exec {

// The distributions that every call is tried with; docs/verification.md says what each one is.
inline constexpr std::string_view kDistributions[] = {"normal", "large", "positive", "zero_tail",
                                                      "uneven"};
// For rows that the call normalises as they are: their mean is far from zero.
inline constexpr std::string_view kShifted = "shifted";

// Values beyond the numbers that a text compares them with, and beyond exp's range.
inline constexpr std::string_view kFar = "far";
// Buffers have other values than in the model.
inline constexpr std::string_view kOtherBuffers = "other_buffers";

// What is known about an input that is to be drawn.
struct InputFacts {
    bool constant = false;    // a weight
    bool normalised = false;  // reaches a norm without a product in between: kShifted shifts it
    bool narrow = false;      // the call has f16 numbers, whose range large integers exceed
    double far = 1;           // its factor in kFar
    verify::IntegerUse integers;
};

// Draws a tensor of the type from the device's random number generator in torch.
at::Tensor draw_tensor(const graph::TensorType& type, const InputFacts& facts,
                       std::string_view distribution, c10::Device device);

// A buffer with other values: negative numbers stay negative, positive ones positive, and infinite
// ones infinite.
at::Tensor other_values(const at::Tensor& buffer);

}  // namespace fact::exec
