// Syntax trees to checked kernels: names resolved, types and dimensions worked out.
#pragma once

#include <optional>

#include "dsl/ast.h"
#include "dsl/reporter.h"
#include "ir/kernel.h"

namespace fact::dsl {

// Reports every error of the kernel; nothing when there was one.
std::optional<ir::Kernel> check(const ast::Kernel& kernel, Reporter& reporter);

}  // namespace fact::dsl
