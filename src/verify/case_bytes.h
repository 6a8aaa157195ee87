// The size of what a proof of a call has at hand for each case.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace fact::verify {

struct CaseBytes {
    std::int64_t inputs = 0;
    std::int64_t results = 0;  // with those in f64
    std::int64_t all() const { return inputs + results; }
};

CaseBytes case_bytes(const graph::Graph& original);

// Of a case that takes more, only the numbers of one are kept at a time.
constexpr std::int64_t kLargeCase = std::int64_t{2} << 30;

}  // namespace fact::verify
