// A kernel's schedules hold where a pipeline calls it.
#pragma once

#include "dsl/ast.h"
#include "dsl/dsl.h"
#include "dsl/reporter.h"

namespace fact::dsl {

// Adds, for every call that names its results, the called kernel's blocks under the names its
// products have in the pipeline, unless the pipeline has a block of its own for that product.
// Reports a text that makes too many.
void inherit_schedules(const ast::File& file, Program& program, Reporter& reporter);

}  // namespace fact::dsl
