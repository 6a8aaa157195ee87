#include "schedule/partial_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fact::schedule {

Schedule PartialSchedule::applied_to(Schedule s) const {
    s.tile = tile.value_or(s.tile);
    s.cluster = cluster.value_or(s.cluster);
    s.mainloop = mainloop.value_or(s.mainloop);
    s.stages = stages.value_or(s.stages);
    s.raster = raster.value_or(s.raster);
    s.swizzle = swizzle.value_or(s.swizzle);
    s.scheduler = scheduler.value_or(s.scheduler);
    return s;
}

std::string to_string(const PartialSchedule& partial) {
    std::vector<std::string> entries;
    if (partial.tile)
        entries.push_back(
            fmt::format("tile {}x{}x{}", partial.tile->m, partial.tile->n, partial.tile->k));
    if (partial.cluster)
        entries.push_back(fmt::format("cluster {}x{}", partial.cluster->m, partial.cluster->n));
    if (partial.mainloop)
        entries.push_back(fmt::format("mainloop {}", info(*partial.mainloop).name));
    if (partial.stages)
        entries.push_back(fmt::format(
            "stages {}", *partial.stages == 0 ? "auto" : std::to_string(*partial.stages)));
    if (partial.scheduler) {
        std::vector<std::string> arguments;
        if (partial.raster)
            arguments.push_back(fmt::format("raster: {}", info(*partial.raster).name));
        if (partial.swizzle) arguments.push_back(fmt::format("swizzle: {}", *partial.swizzle));
        entries.push_back(
            fmt::format("scheduler {}{}", info(*partial.scheduler).name,
                        arguments.empty() ? "" : fmt::format("({})", fmt::join(arguments, ", "))));
    }
    return fmt::format("{}", fmt::join(entries, "  "));
}

std::vector<std::string> open_entries(const PartialSchedule& partial) {
    std::vector<std::string> open;
    const auto note = [&](const auto& entry, const char* name) {
        if (!entry) open.emplace_back(name);
    };
    note(partial.tile, "tile");
    note(partial.cluster, "cluster");
    note(partial.mainloop, "mainloop");
    note(partial.stages, "stages");
    note(partial.scheduler, "scheduler");
    if (partial.scheduler) note(partial.raster, "raster");
    if (partial.scheduler) note(partial.swizzle, "swizzle");
    return open;
}

std::vector<Schedule> completions(const PartialSchedule& partial,
                                  const std::vector<Schedule>& ranked) {
    std::vector<Schedule> agreeing, replaced;
    for (const Schedule& candidate : ranked) {
        const Schedule schedule = partial.applied_to(candidate);
        if (schedule == candidate) agreeing.push_back(schedule);
        if (std::find(replaced.begin(), replaced.end(), schedule) == replaced.end())
            replaced.push_back(schedule);
    }
    if (!agreeing.empty()) return agreeing;
    if (replaced.empty()) replaced.push_back(partial.applied_to({}));
    return replaced;
}

}  // namespace fact::schedule
