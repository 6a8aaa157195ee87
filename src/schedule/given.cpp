#include "schedule/given.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fact::schedule {

Schedule Given::over(Schedule s) const {
    s.tile = tile.value_or(s.tile);
    s.cluster = cluster.value_or(s.cluster);
    s.mainloop = mainloop.value_or(s.mainloop);
    s.stages = stages.value_or(s.stages);
    s.raster = raster.value_or(s.raster);
    s.swizzle = swizzle.value_or(s.swizzle);
    s.scheduler = scheduler.value_or(s.scheduler);
    return s;
}

std::string to_string(const Given& given) {
    std::vector<std::string> entries;
    if (given.tile)
        entries.push_back(
            fmt::format("tile {}x{}x{}", given.tile->m, given.tile->n, given.tile->k));
    if (given.cluster)
        entries.push_back(fmt::format("cluster {}x{}", given.cluster->m, given.cluster->n));
    if (given.mainloop) entries.push_back(fmt::format("mainloop {}", info(*given.mainloop).name));
    if (given.stages)
        entries.push_back(
            fmt::format("stages {}", *given.stages == 0 ? "auto" : std::to_string(*given.stages)));
    if (given.scheduler) {
        std::vector<std::string> arguments;
        if (given.raster) arguments.push_back(fmt::format("raster: {}", info(*given.raster).name));
        if (given.swizzle) arguments.push_back(fmt::format("swizzle: {}", *given.swizzle));
        entries.push_back(
            fmt::format("scheduler {}{}", info(*given.scheduler).name,
                        arguments.empty() ? "" : fmt::format("({})", fmt::join(arguments, ", "))));
    }
    return fmt::format("{}", fmt::join(entries, "  "));
}

std::vector<std::string> open_entries(const Given& given) {
    std::vector<std::string> open;
    const auto note = [&](const auto& entry, const char* name) {
        if (!entry) open.emplace_back(name);
    };
    note(given.tile, "tile");
    note(given.cluster, "cluster");
    note(given.mainloop, "mainloop");
    note(given.stages, "stages");
    note(given.scheduler, "scheduler");
    if (given.scheduler) note(given.raster, "raster");
    if (given.scheduler) note(given.swizzle, "swizzle");
    return open;
}

std::vector<Schedule> completions(const Given& given, const std::vector<Schedule>& ranked) {
    std::vector<Schedule> as_ranked, others;
    for (const Schedule& candidate : ranked) {
        const Schedule schedule = given.over(candidate);
        if (schedule == candidate) as_ranked.push_back(schedule);
        if (std::find(others.begin(), others.end(), schedule) == others.end())
            others.push_back(schedule);
    }
    if (!as_ranked.empty()) return as_ranked;
    if (others.empty()) others.push_back(given.over({}));
    return others;
}

}  // namespace fact::schedule
