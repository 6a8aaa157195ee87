#include "schedule/schedule.h"

#include <fmt/format.h>

namespace fact::schedule {

std::string to_string(const Schedule& s) {
    return fmt::format(
        "tile {}x{}x{}  cluster {}x{}  mainloop {}  stages {}  scheduler {}(raster: {}, "
        "swizzle: {})",
        s.tile.m, s.tile.n, s.tile.k, s.cluster.m, s.cluster.n, info(s.mainloop).name,
        s.stages == 0 ? "auto" : std::to_string(s.stages), info(s.scheduler).name,
        info(s.raster).name, s.swizzle);
}

}  // namespace fact::schedule
