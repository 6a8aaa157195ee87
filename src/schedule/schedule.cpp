#include "schedule/schedule.h"

#include <fmt/format.h>

#include "support/result.h"

namespace fact::schedule {

std::string_view name(Mainloop mainloop) {
    return mainloop == Mainloop::pingpong ? "pingpong" : "cooperative";
}

std::string_view name(Raster raster) {
    return raster == Raster::m ? "m" : "n";
}

std::string_view name(Scheduler scheduler) {
    switch (scheduler) {
        case Scheduler::persistent:
            return "persistent";
        case Scheduler::streamk:
            return "streamk";
        case Scheduler::splitk:
            return "splitk";
    }
    throw InternalError("a scheduler without a name");
}

std::string to_string(const Schedule& s) {
    return fmt::format(
        "tile {}x{}x{}  cluster {}x{}  mainloop {}  stages {}  scheduler {}(raster: {}, "
        "swizzle: {})",
        s.tile.m, s.tile.n, s.tile.k, s.cluster.m, s.cluster.n, name(s.mainloop),
        s.stages == 0 ? "auto" : std::to_string(s.stages), name(s.scheduler), name(s.raster),
        s.swizzle);
}

}  // namespace fact::schedule
