// How schedules and errors are spelled in tables.
#pragma once

#include <string>
#include <string_view>

namespace fact::report {

// "64x128x64 c2x1 pingpong stages 8": a schedule without most keywords and defaults.
std::string short_schedule(std::string_view schedule);
// "1.2e-03", or "0".
std::string error_text(double value);

}  // namespace fact::report
