// Checks schedule blocks: which product they are for, and all combinations of their alternatives.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/ast.h"
#include "dsl/dsl.h"
#include "dsl/reporter.h"

namespace fact::dsl {

// The entries a block may have.
inline constexpr std::string_view kEntries[] = {"tile",     "cluster", "mainloop",
                                                "epilogue", "stages",  "scheduler"};

inline constexpr std::size_t kMaxChoices = 4096;        // of a block
inline constexpr std::size_t kMaxChoicesInAll = 65536;  // of a text
// Reports that the text makes more than kMaxChoicesInAll schedules.
void report_too_many_choices(Span at, Reporter& reporter);

// `names`: all kernels of the file; `program` has only those without errors.
std::optional<ScheduleBlock> check_schedule(const ast::Schedule& schedule,
                                            const std::set<std::string>& names,
                                            const Program& program, Reporter& reporter);

}  // namespace fact::dsl
