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

// What is known of the input that is drawn.
struct Drawn {
    bool constant = false;    // a weight
    bool normalised = false;  // kShifted shifts it
    bool narrow = false;      // the call has f16 numbers, which large integers leave
    verify::IntegerUse integers;
};

// A tensor of the type, from torch's generator of the device.
at::Tensor draw_tensor(const graph::TensorType& type, const Drawn& known,
                       std::string_view distribution, c10::Device device);

}  // namespace fact::exec
