// Makes examples from the registry's records.
#pragma once

#include <vector>

#include "index/example.h"
#include "registry/record.h"

namespace fact::index {

inline constexpr std::size_t kMaxExamples = 54;  // per architecture

// At most `most` examples per architecture, from records that were proved and are at most 5 %
// slower than torch: of each structure and class of sizes the record nearest to its bound, first
// one size of each structure, then more sizes. Sorted by name; the order of the records does not
// matter.
std::vector<Example> examples_from(const std::vector<registry::Record>& records,
                                   std::size_t most = kMaxExamples);

}  // namespace fact::index
