// What nvcc and ptxas wrote, read.
#pragma once

#include <string>
#include <string_view>

namespace fact::jit {

// The most registers of any kernel in the unit, and the spilled bytes of all of them.
struct Resources {
    int registers = 0, spill_bytes = 0;
};
Resources resources_in(const std::string& log);

// The first lines that name an error; the log's tail when none does.
std::string first_errors(std::string_view log, int max_lines = 6);

}  // namespace fact::jit
