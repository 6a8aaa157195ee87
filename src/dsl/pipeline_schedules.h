// A pipeline inherits the schedules of the kernels it calls.
#pragma once

#include "dsl/ast.h"
#include "dsl/dsl.h"
#include "dsl/reporter.h"

namespace fact::dsl {

// For every call that names its results, adds the called kernel's blocks under the names that its
// products have in the pipeline, unless the pipeline has its own block for that product. Reports
// too many schedules.
void inherit_schedules(const ast::File& file, Program& program, Reporter& reporter);

}  // namespace fact::dsl
