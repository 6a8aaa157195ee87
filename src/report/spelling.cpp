#include "report/spelling.h"

#include <fmt/format.h>

namespace fact::report {

std::string short_schedule(std::string_view schedule) {
    std::string out{schedule};
    for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"tile ", ""},
                                   {"cluster ", "c"},
                                   {"mainloop ", ""},
                                   {"stages auto", ""},
                                   {"scheduler persistent", ""},
                                   {"scheduler ", ""}})
        if (const auto at = out.find(from); at != std::string::npos)
            out.replace(at, from.size(), to);
    // The scheduler's parameters, such as "(raster: ...)", are at the end.
    if (const auto at = out.find('('); at != std::string::npos) out.erase(at);
    return one_line(out);
}

std::string error_text(double value) {
    return value == 0 ? "0" : fmt::format("{:.1e}", value);
}

}  // namespace fact::report
