// Numbers to try a call with.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "torch/executor.h"
#include "verify/integers.h"

namespace fact::exec {

inline constexpr std::string_view kDistributions[] = {"normal", "large", "positive", "zero_tail",
                                                      "uneven"};
// Of rows that the call normalises as it gets them: the mean is far from zero.
inline constexpr std::string_view kShifted = "shifted";

// Of calls that compare values with large numbers: as far as those are.
inline constexpr std::string_view kFar = "far";
// Buffers have other values than the model's.
inline constexpr std::string_view kOtherBuffers = "other_buffers";

// What is known of the input that is drawn.
struct Drawn {
    bool constant = false;    // a weight
    bool normalised = false;  // kShifted shifts it
    bool narrow = false;      // the call has f16 numbers, which large integers leave
    double far = 1;           // what kFar multiplies it by
    verify::IntegerUse integers;
};

// A tensor of the type, from torch's generator of the device.
at::Tensor draw_tensor(const graph::TensorType& type, const Drawn& known,
                       std::string_view distribution, c10::Device device);

// A buffer with other values: signs, infinities and what is positive stay.
at::Tensor other_values(const at::Tensor& buffer);

}  // namespace fact::exec
