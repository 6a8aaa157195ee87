// What a schedule block says: entries that are left out are to be chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace fact::schedule {

struct Given {
    std::optional<Tile> tile = {};
    std::optional<Cluster> cluster = {};
    std::optional<Mainloop> mainloop = {};
    std::optional<int> stages = {};  // 0: as many as fit, which is not the same as to be chosen
    std::optional<Raster> raster = {};
    std::optional<int> swizzle = {};
    std::optional<Scheduler> scheduler = {};
    bool operator==(const Given&) const = default;

    // The schedule with what is given in its place.
    Schedule over(Schedule schedule) const;
};

// "tile 128x256x64  cluster 2x1": the entries that are there; "" when there is none.
std::string to_string(const Given& given);
// The names of the others, and "raster" and "swizzle" where only the scheduler is given.
std::vector<std::string> open_entries(const Given& given);

// The schedules that have what is given, most promising first: those of `ranked`, or, where there
// is none such, all of `ranked` with what is given put in, legal or not.
std::vector<Schedule> completions(const Given& given, const std::vector<Schedule>& ranked);

}  // namespace fact::schedule
