#include "driver/desk.h"

#include "driver/ceilings.h"

namespace fact::driver {

Result<Desk> open_desk(const RunFolder& run) {
    const auto settings = run.settings();
    if (!settings) return settings.error();
    auto found = read_discovered(run);
    if (!found) return found.error();
    auto environment = find_environment(settings->arch);
    if (!environment) return environment.error();
    const auto ceilings = find_ceilings(*environment, "", settings->arch);
    if (!ceilings) return ceilings.error();
    const auto precision = precision_of(run.archive(), settings->allow_tf32);
    if (!precision) return precision.error();
    auto options = match_options(*ceilings, settings->arch, precision->tf32);
    auto bounds = sol::node_bounds(found->graph, options.tf32, ceilings->gpu);
    return Desk{run, std::move(*environment), std::move(options), std::move(*found),
                std::move(bounds)};
}

}  // namespace fact::driver
