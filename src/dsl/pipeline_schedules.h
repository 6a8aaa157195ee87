// A pipeline inherits the schedules of the kernels it calls.
#pragma once

#include "dsl/ast.h"
#include "dsl/dsl.h"
#include "dsl/reporter.h"

namespace fact::dsl {

// For every statement `h = f(x)` of a pipeline whose right-hand side is just a call, copies f's
// schedule blocks to the pipeline, with the product renamed as it is there (`acc` becomes `h_acc`),
// unless the pipeline has its own block for that product and arch. Reports an error if there are
// then more than kMaxChoicesInAll choices.
void inherit_schedules(const ast::File& file, Program& program, Reporter& reporter);

}  // namespace fact::dsl
