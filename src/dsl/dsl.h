// The kernel language: text to checked IR and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "schedule/partial_schedule.h"
#include "support/diagnostics.h"

namespace fact::dsl {

// `schedule mlp_up.acc on sm90a { ... }`: each entry may list alternatives, or be left out.
struct ScheduleBlock {
    std::string kernel, product, arch;
    std::vector<schedule::PartialSchedule> choices;  // the cross product of the alternatives
    Span span;
};

struct Program {
    std::vector<ir::Kernel> kernels;
    // With their kernels inlined, and results of calls marked `stored`.
    std::vector<ir::Kernel> pipelines;
    std::vector<ScheduleBlock> schedules;

    // The kernel or pipeline of this name; nullptr if there is none.
    const ir::Kernel* find(std::string_view name) const;
};

// Parses and checks; nullopt if there are errors, all of which are in the diagnostics.
std::optional<Program> compile(std::string_view text, Diagnostics& diagnostics);

// The kernel as text: values used twice get a name, the rest is inlined.
// compile(to_text(k)) gives k back, up to expression numbering.
std::string to_text(const ir::Kernel& kernel);
std::string to_text(const ScheduleBlock& block);

// The text with canonical spacing; comments are preserved.
std::optional<std::string> format(std::string_view text, Diagnostics& diagnostics);

}  // namespace fact::dsl
