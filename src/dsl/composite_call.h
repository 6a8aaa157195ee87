// The prelude's functions for those who build kernels without a text.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "ir/kernel.h"

namespace fact::dsl {

// Writes the composite function out, and returns its result. What is missing among `values` takes
// its default; throws InternalError for what the checker would refuse.
ir::ExprId call_composite(ir::Kernel& kernel, std::string_view function,
                          const std::map<std::string_view, ir::ExprId>& values,
                          const std::vector<ir::DimId>& over = {});

}  // namespace fact::dsl
