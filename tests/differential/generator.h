// Random valid kernels that compute something: products with epilogues, rows with reductions,
// norms before and after products, gates, attention, pipelines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::differential {

struct Program {
    ir::Kernel kernel;
    std::string family;                 // what it is made of
    std::vector<std::int64_t> extents;  // by dimension id, small
};

// The same seed gives the same program. Values stay tame: no result depends on which side of a jump
// a rounding error falls.
Program random_program(std::uint32_t seed);
// The same with every extent below 8, for checks that are slow.
Program small_program(std::uint32_t seed);

}  // namespace fact::differential
