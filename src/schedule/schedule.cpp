#include "schedule/schedule.h"

#include <fmt/format.h>

#include <regex>

namespace fact::schedule {

std::string to_string(const Schedule& s) {
    return fmt::format(
        "tile {}x{}x{}  cluster {}x{}  mainloop {}  stages {}  scheduler persistent(raster: {}, "
        "swizzle: {})",
        s.tile.m, s.tile.n, s.tile.k, s.cluster.m, s.cluster.n,
        s.mainloop == Mainloop::pingpong ? "pingpong" : "cooperative",
        s.stages == 0 ? "auto" : std::to_string(s.stages), s.raster == Raster::m ? "m" : "n",
        s.swizzle);
}

Result<Schedule> schedule_from_string(std::string_view text) {
    static const std::regex form(
        R"(\s*tile\s+(\d{1,4})x(\d{1,4})x(\d{1,4})\s+cluster\s+(\d)x(\d)\s+mainloop\s+(cooperative|pingpong)\s+stages\s+(auto|\d{1,2})\s+scheduler\s+persistent\(raster:\s*(m|n),\s*swizzle:\s*(\d{1,3})\)\s*)");
    std::cmatch match;
    if (!std::regex_match(text.data(), text.data() + text.size(), match, form))
        return Error{fmt::format("not a schedule: \"{}\"", text),
                     "Write it as \"" + to_string({{128, 128, 64}, {2, 1}}) + "\"."};
    const auto number = [&](int i) { return std::stoi(match[i].str()); };
    Schedule s;
    s.tile = {number(1), number(2), number(3)};
    s.cluster = {number(4), number(5)};
    s.mainloop = match[6].str() == "pingpong" ? Mainloop::pingpong : Mainloop::cooperative;
    s.stages = match[7].str() == "auto" ? 0 : number(7);
    s.raster = match[8].str() == "m" ? Raster::m : Raster::n;
    s.swizzle = number(9);
    return s;
}

}  // namespace fact::schedule
