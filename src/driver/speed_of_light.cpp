#include "driver/speed_of_light.h"

#include <fmt/format.h>

#include "driver/ceilings.h"
#include "driver/discover.h"
#include "driver/environment.h"
#include "driver/trace.h"
#include "support/files.h"
#include "support/progress.h"
#include "target/arch.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

bool is_run_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

bool is_archive(const fs::path& path) {
    return path.extension() == ".pt2";
}

// Refuses options that only matter for tracing.
Result<> refuse_tracing_options(const Settings& settings) {
    if (settings.dtype.empty() && !settings.training) return Ok{};
    return Error{fmt::format("{} is already traced: {} comes too late", settings.source,
                             settings.dtype.empty() ? "--training" : "--dtype"),
                 "give the module (FILE.py or package.module:factory) instead", true};
}

// Finds the patterns of `archive` and computes the bounds.
Result<report::SpeedOfLight> bounds_of(const fs::path& archive, const Settings& settings,
                                       const Ceilings& ceilings) {
    const auto precision = precision_of(archive, settings.allow_tf32);
    if (!precision) return precision.error();
    const auto options = match_options(ceilings, settings.arch, precision->tf32);
    const auto found = discover(archive, options);
    if (!found) return found.error();
    auto light =
        report::speed_of_light(found->graph, found->discovery, precision->tf32, ceilings.gpu);
    light.source = settings.source;
    light.dtype = module_dtype(found->graph);
    light.ceilings = ceilings.source;
    return light;
}

}  // namespace

Result<report::SpeedOfLight> speed_of_light(const SolRequest& request) {
    Settings settings = request.settings;
    const auto environment = find_environment(settings.arch);
    if (!environment) return environment.error();
    const auto ceilings = find_ceilings(*environment, request.gpu, settings.arch);
    if (!ceilings) return ceilings.error();

    const fs::path path = settings.source;
    if (is_run_folder(path)) {
        if (auto fine = refuse_tracing_options(settings); !fine) return fine.error();
        const RunFolder run(path);
        std::error_code ignored;
        if (!fs::exists(run.archive(), ignored))
            return Error{settings.source + " is not a run folder: it has no model.pt2",
                         "make one with `fact optimize FILE --run-dir RUN`", true};
        const auto earlier = run.settings();
        if (!earlier) return earlier.error();
        settings.allow_tf32 |= earlier->allow_tf32;
        return bounds_of(run.archive(), settings, *ceilings);
    }
    if (is_archive(path)) {
        if (auto fine = refuse_tracing_options(settings); !fine) return fine.error();
        return bounds_of(path, settings, *ceilings);
    }
    if (auto fine = check_source(settings.source); !fine) return fine.error();
    const TemporaryFolder work(fs::temp_directory_path(), "fact-sol");
    const auto archive = work.path() / "model.pt2";
    Progress tracing("trace", 0);
    tracing.status(settings.source);
    // Bounds do not depend on the values of parameters.
    const TraceRequest weightless{settings.source, settings.dtype, settings.training, true};
    if (auto done = trace(*environment, weightless, archive, {}); !done) return done.error();
    tracing.finish("exported");
    return bounds_of(archive, settings, *ceilings);
}

Result<std::string> gpu_table_text() {
    const auto environment = find_environment();
    if (!environment) return environment.error();
    std::vector<GpuSpec> gpus;
    std::vector<std::string> sources;
    for (const GpuSpec& row : gpu_table()) {
        const auto ceilings =
            find_ceilings(*environment, std::string(row.name), std::string(kDefaultArch));
        if (!ceilings) return ceilings.error();
        gpus.push_back(ceilings->gpu);
        sources.push_back(ceilings->source);
    }
    return report::gpu_table_text(gpus, sources);
}

}  // namespace fact::driver
