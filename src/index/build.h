// Examples from what the registry remembers.
#pragma once

#include <vector>

#include "index/example.h"
#include "registry/record.h"

namespace fact::index {

inline constexpr std::size_t kMaxExamples = 54;  // of an architecture

// Of the records that were proved and are not behind torch: the one nearest to its bound for each
// structure and class of sizes; of those one for each structure, and as many more sizes as are
// wanted. By name; the same records give the same examples in whatever order they come.
std::vector<Example> examples_from(const std::vector<registry::Record>& records,
                                   std::size_t most = kMaxExamples);

}  // namespace fact::index
