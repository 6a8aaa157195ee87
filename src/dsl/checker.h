// Syntax trees to checked kernels: resolves names, and computes types and dimensions.
#pragma once

#include <optional>

#include "dsl/ast.h"
#include "dsl/evaluator.h"

namespace fact::dsl {

// Reports every error of the kernel or pipeline; nullopt if there was one.
std::optional<ir::Kernel> check(const ast::Kernel& kernel, const KernelTable& kernels,
                                Reporter& reporter, Budget& budget);

}  // namespace fact::dsl
