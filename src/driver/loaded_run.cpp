#include "driver/loaded_run.h"

#include "driver/ceilings.h"

namespace fact::driver {

namespace {

std::filesystem::file_time_type discovery_time(const RunFolder& run) {
    std::error_code ignored;
    return std::filesystem::last_write_time(run.discovery(), ignored);
}

}  // namespace

Result<LoadedRun> load_run(const RunFolder& run) {
    const auto settings = run.settings();
    if (!settings) return settings.error();
    const auto discovery_written_at = discovery_time(run);
    auto found = read_discovered(run);
    if (!found) return found.error();
    auto environment = find_environment(settings->arch);
    if (!environment) return environment.error();
    const auto ceilings = find_ceilings(*environment, /*gpu=*/"", settings->arch);
    if (!ceilings) return ceilings.error();
    const auto precision = precision_of(run.archive(), settings->allow_tf32);
    if (!precision) return precision.error();
    auto options = match_options(*ceilings, settings->arch, precision->tf32);
    auto bounds = sol::node_bounds(found->graph, options.tf32, ceilings->gpu);
    return LoadedRun{.run = run,
                     .environment = std::move(*environment),
                     .options = std::move(options),
                     .found = std::move(*found),
                     .bounds = std::move(bounds),
                     .discovery_written_at = discovery_written_at};
}

bool is_stale(const LoadedRun& loaded) {
    return discovery_time(loaded.run) != loaded.discovery_written_at;
}

}  // namespace fact::driver
