// The faults of tests/gpu/faults/ without a GPU: each is the interpreter with one defect, so that
// the proof and the tuner's reaction can be tested anywhere.
#pragma once

#include <string_view>
#include <vector>

#include "torch/proof.h"

namespace fact::exec {

// Turns an honest kernel into a faulty one.
using Fault = std::function<LaunchKernel(LaunchKernel honest)>;

// The fault that a file names ("fact-fault: zeros"); "" is honest. An Error lists the known names.
Result<Fault> simulated_fault(std::string_view name);
std::vector<std::string_view> simulated_faults();

}  // namespace fact::exec
