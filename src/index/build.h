// Makes examples from the registry's records.
#pragma once

#include <vector>

#include "index/example.h"
#include "registry/record.h"

namespace fact::index {

inline constexpr std::size_t kMaxExamples = 54;  // per architecture

// Takes records that were proved and are at most 5 % slower than torch, the one nearest to its
// bound for each structure and class of sizes: first one for each structure, then more sizes, up to
// `most`. Sorted by name; the order of the records does not matter.
std::vector<Example> examples_from(const std::vector<registry::Record>& records,
                                   std::size_t most = kMaxExamples);

}  // namespace fact::index
