// Schedule blocks: which product they are for, and the choices their entries span.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/ast.h"
#include "dsl/dsl.h"
#include "dsl/reporter.h"

namespace fact::dsl {

// `names` are all kernels of the file; `kernels` those without errors.
std::optional<ScheduleBlock> check_schedule(const ast::Schedule& schedule,
                                            const std::set<std::string>& names,
                                            const std::vector<ir::Kernel>& kernels,
                                            Reporter& reporter);

}  // namespace fact::dsl
