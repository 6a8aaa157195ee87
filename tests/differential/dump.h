// A program, its inputs and what the interpreter makes of them as one line of JSON, for a check
// against another implementation.
#pragma once

#include <string>

#include "generator.h"

namespace fact::differential {

// Inputs are drawn from the seed; results are f64.
std::string dump_run(const Program& program, std::uint32_t seed);

}  // namespace fact::differential
