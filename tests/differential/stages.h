// A random program stage by stage, each stage by the interpreter: cutting a kernel, and what it
// rewrites on the way, leaves the results as they are.
#pragma once

#include <string>

#include "generator.h"

namespace fact::differential {

// Says how the results differ from those of the whole program; "" if they do not. Sums may be in
// another order.
std::string difference_of_stages(const Program& program, std::uint32_t seed, bool sm80);

}  // namespace fact::differential
