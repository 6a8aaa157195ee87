// The structure of a kernel text.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dsl/dsl.h"
#include "index/features.h"

namespace fact::index {

using Extents = std::map<std::string, std::int64_t>;  // by dimension

// Of the text's pipelines, or else its kernels, all together. Extents that it has no dimension for
// count for nothing.
Features text_features(const dsl::Program& program, const Extents& extents = {});

}  // namespace fact::index
