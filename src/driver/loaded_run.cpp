#include "driver/loaded_run.h"

#include "driver/ceilings.h"

namespace fact::driver {

namespace {

std::filesystem::file_time_type time_of(const RunFolder& run) {
    std::error_code ignored;
    return std::filesystem::last_write_time(run.discovery(), ignored);
}

}  // namespace

Result<LoadedRun> load_run(const RunFolder& run) {
    const auto settings = run.settings();
    if (!settings) return settings.error();
    const auto written = time_of(run);
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
    return LoadedRun{run,
                     std::move(*environment),
                     std::move(options),
                     std::move(*found),
                     std::move(bounds),
                     {},
                     written};
}

bool is_stale(const LoadedRun& loaded) {
    return time_of(loaded.run) != loaded.written;
}

}  // namespace fact::driver
