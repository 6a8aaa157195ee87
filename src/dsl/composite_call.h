// The composite functions of the prelude, for code that builds kernels without a text.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "ir/kernel.h"

namespace fact::dsl {

// Inlines the composite function and returns its result. Parameters missing from `values` take
// their defaults; throws InternalError for what the checker would refuse.
ir::ExprId call_composite(ir::Kernel& kernel, std::string_view function,
                          const std::map<std::string_view, ir::ExprId>& values,
                          const std::vector<ir::DimId>& over = {});

}  // namespace fact::dsl
