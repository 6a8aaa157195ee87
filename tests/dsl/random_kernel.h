// A generator of random valid kernels, built as the rules build them.
#pragma once

#include <cstdint>

#include "ir/kernel.h"

namespace fact::dsl {

// The same seed gives the same kernel.
ir::Kernel random_kernel(std::uint32_t seed);

}  // namespace fact::dsl
