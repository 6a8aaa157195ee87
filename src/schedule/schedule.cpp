#include "schedule/schedule.h"

#include <fmt/format.h>

#include <cstdio>

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
    const std::string line(text);
    Schedule s;
    char mainloop[12] = "", stages[5] = "", raster = 0;
    int end = -1;
    // Widths keep every number in range; %n is only reached when all of it was read.
    std::sscanf(line.c_str(),
                " tile %4dx%4dx%4d cluster %1dx%1d mainloop %11[a-z] stages %4[a-z0-9] "
                "scheduler persistent(raster: %c, swizzle: %3d) %n",
                &s.tile.m, &s.tile.n, &s.tile.k, &s.cluster.m, &s.cluster.n, mainloop, stages,
                &raster, &s.swizzle, &end);
    const std::string_view loop = mainloop, count = stages;
    const bool whole = end == static_cast<int>(line.size());
    const bool named = (loop == "cooperative" || loop == "pingpong") &&
                       (raster == 'm' || raster == 'n') &&
                       (count == "auto" ||
                        (count.size() <= 2 && count.find_first_not_of("0123456789") == count.npos));
    if (!whole || !named)
        return Error{fmt::format("not a schedule: \"{}\"", text),
                     "Write it as \"" + to_string({{128, 128, 64}, {2, 1}}) + "\"."};
    s.mainloop = loop == "pingpong" ? Mainloop::pingpong : Mainloop::cooperative;
    s.stages = count == "auto" ? 0 : std::stoi(stages);
    s.raster = raster == 'm' ? Raster::m : Raster::n;
    return s;
}

}  // namespace fact::schedule
