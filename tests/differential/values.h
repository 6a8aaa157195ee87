// Inputs of a random program and what the interpreter gives for them.
#pragma once

#include <vector>

#include "generator.h"
#include "tools/host_tensor.h"

namespace fact::differential {

struct Run {
    std::vector<tools::HostTensor> inputs, outputs;  // outputs in f64
};
// Whether operands of a product are rounded to TF32.
bool rounds_to_tf32(const Program& program);
Run interpreted(const Program& program, std::uint32_t seed);

std::vector<std::int64_t> sizes_of(const Program& program, const ir::Type& type);

// The same values as f64, whatever the type.
std::vector<double> widened(tools::HostTensor tensor);

}  // namespace fact::differential
