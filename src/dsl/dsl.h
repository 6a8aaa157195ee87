// The kernel language: text to checked IR and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "schedule/given.h"
#include "support/diagnostics.h"

namespace fact::dsl {

// `schedule mlp_up.acc on sm90a { ... }`: each entry may list alternatives, or be left out.
struct ScheduleBlock {
    std::string kernel, product, arch;
    std::vector<schedule::Given> choices;  // the cross product of the alternatives
    Span span;
};

struct Program {
    std::vector<ir::Kernel> kernels;
    // Their kernels written out, results of calls marked `stored`.
    std::vector<ir::Kernel> pipelines;
    std::vector<ScheduleBlock> schedules;

    // The kernel or pipeline of this name; nullptr when there is none.
    const ir::Kernel* find(std::string_view name) const;
};

// Parses and checks; on errors the diagnostics say all of them and the result is empty.
std::optional<Program> compile(std::string_view text, Diagnostics& diagnostics);

// The kernel as text: values used twice get a name, the rest is written in place.
// compile(to_text(k)) gives k back, up to expression numbering.
std::string to_text(const ir::Kernel& kernel);
std::string to_text(const ScheduleBlock& block);

// The text re-spaced, comments kept.
std::optional<std::string> format(std::string_view text, Diagnostics& diagnostics);

}  // namespace fact::dsl
