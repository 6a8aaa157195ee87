#include "driver/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compose/package.h"
#include "compose/rewrite.h"
#include "driver/acceptance.h"
#include "graph/graph_json.h"
#include "graph/pt2_archive.h"
#include "package/files.h"
#include "support/files.h"
#include "support/hash.h"
#include "target/gpu_spec.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

// A pattern with its times. Sustained times count as much as single ones, since a service calls the
// kernel again and again. They are few and noisy, so only their ratio to torch's is used.
compose::Candidate candidate(const match::Pattern& pattern, const Realizations& realizations) {
    compose::Candidate out;
    out.pattern = &pattern;
    const auto at = realizations.find(pattern.family);
    if (at == realizations.end()) {
        out.why = "not realized yet";
        return out;
    }
    const auto& r = at->second;
    out.realized = r.realized;
    out.why = r.why;
    if (!r.measured) return out;
    out.fused = r.single;
    out.baseline = r.baseline_single;
    if (r.sustained.runs > 0 && r.baseline_sustained.runs > 0) {
        // Scales sustained times to single ones; the result is the geometric mean of both.
        const double as_single = r.baseline_single.median_us / r.baseline_sustained.median_us;
        out.fused.median_us = std::sqrt(r.single.median_us * as_single * r.sustained.median_us);
    }
    return out;
}

}  // namespace

int Plan::fused() const {
    return static_cast<int>(std::count_if(choices.begin(), choices.end(),
                                          [](const compose::Choice& c) { return c.fused; }));
}

std::vector<const match::Pattern*> Plan::patterns(const match::Discovery& discovery) const {
    std::vector<const match::Pattern*> out;
    for (std::size_t i = 0; i < choices.size(); ++i)
        if (choices[i].fused) out.push_back(&discovery.patterns[i]);
    return out;
}

Plan plan(const Discovered& found, const Realizations& realizations,
          const std::map<std::string, std::string>& dropped) {
    std::vector<compose::Candidate> candidates;
    for (const auto& pattern : found.discovery.patterns) {
        candidates.push_back(candidate(pattern, realizations));
        if (const auto at = dropped.find(pattern.family); at != dropped.end()) {
            candidates.back().realized = false;
            candidates.back().why = at->second;
        }
    }
    return {compose::choose(found.graph, candidates)};
}

Result<compose::Package> assemble(const RunFolder& run, const Settings& settings,
                                  const Discovered& found, const Realizations& realizations,
                                  const std::vector<const match::Pattern*>& patterns) {
    compose::Package package;
    package.source = settings.source;
    package.name = settings.source.empty() ? run.path().filename().string()
                                           : fs::path(settings.source).stem().string();
    package.arch = settings.arch;
    package.allow_tf32 = settings.allow_tf32;
    package.training = settings.training;
    package.dtype = module_dtype(found.graph);
    package.asked_dtype = settings.dtype;
    package.archive = run.archive();
    auto original = graph::read_pt2_extra(run.archive(), "fact.json");
    if (!original) return original.error();
    package.original = std::move(*original);
    auto graph = compose::rewrite(found.graph, patterns);
    if (!graph) return graph.error();
    package.graph = std::move(*graph);
    std::set<std::string> families;
    for (const auto* pattern : patterns) {
        auto call = compose::make_call(found.graph, *pattern);
        if (!call) return call.error();
        package.calls.push_back(std::move(*call));
        if (!families.insert(pattern->family).second) continue;
        const auto& r = realizations.at(pattern->family);
        package.kernels.push_back({r.family, r.schedule, r.precision, r.folder});
        package.device = r.device;
        package.measured = r.measured;
    }
    const auto gpu = gpu_of_device(package.device);
    package.cats = compose::write_in_place(package.graph, launchers(package.calls, realizations),
                                           gpu ? *gpu : default_gpu(package.arch).value());
    if (const auto wrong = graph::verify(package.graph); !wrong.empty())
        throw InternalError("write_in_place: " + wrong);
    return package;
}

Result<std::string> package_contents(const compose::Package& package) {
    auto out = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", package.source, package.arch,
                           package.dtype, package.asked_dtype, package.device, package.measured,
                           package.allow_tf32, package.training);
    out += graph::to_json(package.graph);
    for (const auto& call : package.calls) out += graph::to_json(call);
    for (const auto& kernel : package.kernels)
        for (const auto* name : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"}) {
            const auto text = read_file(kernel.folder / name);
            if (!text) return text.error();
            out += sha256_hex(*text) + "\n";
        }
    return out;
}

std::string package_inputs(std::string contents, const RunFolder& run) {
    std::error_code ignored;
    contents += std::to_string(fs::file_size(run.archive(), ignored)) + "\n";
    contents +=
        std::to_string(fs::last_write_time(run.archive(), ignored).time_since_epoch().count());
    return contents;
}

Result<Composed> compose_stage(const RunFolder& run, const Settings& settings,
                               const Discovered& found, const Realizations& realizations,
                               const Plan& plan, const fs::path& output) {
    Composed composed;
    const auto patterns = plan.patterns(found.discovery);
    if (patterns.empty()) return composed;

    const auto package = assemble(run, settings, found, realizations, patterns);
    if (!package) return package.error();
    auto contents = package_contents(*package);
    if (!contents) return contents.error();
    composed.contents = std::move(*contents);
    composed.inputs = fs::absolute(output).string() + "\n" + package_inputs(composed.contents, run);
    composed.package = output;
    composed.cats = package->cats;
    if (run.current("compose", composed.inputs) && package::check_nothing_else(output))
        return composed;
    auto staged = compose::StagedPackage::write(*package, output);
    if (!staged) return staged.error();
    composed.package = staged->path();
    composed.staged = std::move(*staged);
    return composed;
}

Result<> accept(const RunFolder& run, Composed& composed) {
    if (!composed.staged) return Ok{};
    if (auto done = composed.staged->put_in_place(); !done) return done;
    composed.staged.reset();
    return run.stamp("compose", composed.inputs);
}

Result<std::vector<std::string>> remove_packages_with(const RunFolder& run, const std::string& id) {
    std::vector<fs::path> places{run.package()};
    const auto asked = run.asked();
    if (asked && *asked && !(*asked)->output.empty()) places.emplace_back((*asked)->output);
    std::vector<std::string> removed;
    for (const auto& place : places) {
        std::error_code failure;
        if (!fs::exists(place / package::kManifestFile, failure)) continue;
        const auto lock = compose::lock_output(place);
        if (!lock) return lock.error();
        const auto manifest = package::read_manifest(place);
        if (!manifest || std::ranges::find(manifest->calls, id) == manifest->calls.end()) continue;
        if (package::check_nothing_else(place))
            fs::remove_all(place, failure);
        else
            fs::remove(place / package::kManifestFile, failure);
        if (failure) return file_error("remove", place, failure.value());
        removed.push_back(place.string());
    }
    return removed;
}

std::string note_of_earlier_package(const fs::path& output) {
    std::error_code ignored;
    if (!fs::exists(output / "manifest.json", ignored)) return {};
    return fmt::format("the package at {} is from an earlier run and was not changed\n",
                       output.string());
}

}  // namespace fact::driver
