// The size of what a proof of a call has at hand for each case.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace fact::verify {

// The bytes of a case's numbers: inputs, results, and those in f64.
std::int64_t case_bytes(const graph::Graph& original);

}  // namespace fact::verify
