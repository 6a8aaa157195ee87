// The structure of a kernel text.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dsl/dsl.h"
#include "index/features.h"

namespace fact::index {

using Extents = std::map<std::string, std::int64_t>;  // by dimension

// The features of the text's pipelines together, or of its kernels if there are none. Extents of
// dimensions that the text lacks are ignored.
Features text_features(const dsl::Program& program, const Extents& extents = {});

}  // namespace fact::index
