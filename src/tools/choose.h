// Which schedules a kernel is emitted with: the text's, one given separately, or the best guess.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/dsl.h"
#include "support/result.h"
#include "tools/kernel_source.h"
#include "tools/plan.h"

namespace fact::tools {

// The program with the schedules of `kernel` replaced by the given one, which is a list of entries
// ("tile 128x128x64 cluster 2x1") or a whole schedule block.
Result<dsl::Program> with_schedule(const KernelSource& source, const ir::Kernel& kernel,
                                   std::string_view arch, std::string_view schedule);

// A schedule of the text as given, and completed by the best guess for what it leaves open.
struct Option {
    schedule::PartialSchedule given;
    schedule::Schedule schedule;
    std::string illegal;  // why it is not legal, or ""
};
// Every schedule that the text lists for that product, in the text's order.
std::vector<Option> options_of(const dsl::Program& program, std::string_view kernel,
                               std::string_view arch, const PlannedProduct& product);

struct Choice {
    Schedules schedules = {};
    std::vector<std::string> notes = {};  // for the user: which were chosen, and why
    bool tma = true;                      // whether skeletons that need tensor maps may be used
};
Result<Choice> choose_schedules(const dsl::Program& program, const ir::Kernel& kernel,
                                std::string_view arch, const Extents& extents, bool tma = true);

}  // namespace fact::tools
