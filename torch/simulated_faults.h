// The faults of tests/gpu/faults/ without a GPU: the interpreter with one defect each, so that the
// proof and the tuner's answer to it are tested anywhere.
#pragma once

#include <string_view>
#include <vector>

#include "torch/proof.h"

namespace fact::exec {

// Makes a faulty kernel of an honest one.
using Fault = std::function<LaunchKernel(LaunchKernel honest)>;

// By the name a file gives itself ("fact-fault: zeros"); "" is honest. An Error names those known.
Result<Fault> simulated_fault(std::string_view name);
std::vector<std::string_view> simulated_faults();

}  // namespace fact::exec
