// The entries that a schedule block sets; the others are chosen automatically.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace fact::schedule {

struct PartialSchedule {
    std::optional<Tile> tile = {};
    std::optional<Cluster> cluster = {};
    std::optional<Mainloop> mainloop = {};
    std::optional<int> stages = {};  // 0: as many as fit; nullopt: to be chosen
    std::optional<Raster> raster = {};
    std::optional<int> swizzle = {};
    std::optional<Scheduler> scheduler = {};
    bool operator==(const PartialSchedule&) const = default;

    // The schedule with the set entries replaced.
    Schedule applied_to(Schedule schedule) const;
};

// The entries that are set: "tile 128x256x64  cluster 2x1"; "" if there are none.
std::string to_string(const PartialSchedule& partial);
// The names of the entries that are not set; "raster" and "swizzle" only if the scheduler is set.
std::vector<std::string> open_entries(const PartialSchedule& partial);

// The schedules of `ranked` that agree with the set entries, most promising first. If none does:
// all of `ranked` with these entries replaced, legal or not.
std::vector<Schedule> completions(const PartialSchedule& partial,
                                  const std::vector<Schedule>& ranked);

}  // namespace fact::schedule
