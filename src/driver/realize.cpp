#include "driver/realize.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "driver/run_state.h"
#include "report/spelling.h"
#include "support/files.h"
#include "support/progress.h"
#include "support/table.h"
#include "tune/compile_ahead.h"
#include "tune/family_files.h"
#include "tune/session.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

struct Family {
    std::string name;
    const match::Pattern* pattern = nullptr;  // the one that is realized for all
    double priority = 0;                      // sum over its patterns
    int patterns = 0;                         // how many it has
};

bool wanted(const match::Pattern& pattern, const std::vector<std::string>& only) {
    if (only.empty()) return true;
    return std::any_of(only.begin(), only.end(), [&](const std::string& name) {
        return name == pattern.id || name == pattern.family;
    });
}

std::vector<Family> families(const match::Discovery& discovery,
                             const std::vector<std::string>& only) {
    std::vector<Family> out;
    for (const auto& pattern : discovery.patterns) {
        if (!wanted(pattern, only)) continue;
        auto at = std::find_if(out.begin(), out.end(),
                               [&](const Family& f) { return f.name == pattern.family; });
        if (at == out.end()) at = out.insert(at, {pattern.family, &pattern, 0, 0});
        at->priority += pattern.priority;
        ++at->patterns;
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Family& a, const Family& b) { return a.priority > b.priority; });
    return out;
}

std::string outcome_text(const tune::Realization& r) {
    if (!r.realized) return fmt::format("no kernel: {}", one_line(r.why));
    auto text = fmt::format("{}, {}", tune::precision_text(r), report::short_schedule(r.schedule));
    if (r.measured && r.single.median_us > 0)
        text += fmt::format(", {:.1f} us, torch {:.1f} us", r.single.median_us,
                            r.baseline_single.median_us);
    if (r.remembered && r.measured) return text + " (from the registry)";
    return r.resumed ? text + " (from an earlier run)" : text;
}

// Without the candidates: the family's own journal has a line for each.
std::string journal_entry(tune::Realization r) {
    r.candidates.clear();
    return tune::to_json(r);
}

// Checked before any work, since results have to be stored.
Result<> writable(const fs::path& folder) {
    auto fine = ensure_writable_folder(folder);
    if (fine) return fine;
    return Error{fine.error().message,
                 "set FACT_REGISTRY to a folder that can be written, or give --no-registry", true};
}

// Shares the remaining time among the remaining families in proportion to their priorities.
class Shares {
  public:
    Shares(const std::vector<Family>& todo, double budget_s) : todo_(todo), budget_(budget_s) {}

    // `family` is an element of `todo`, and those before it are done. nullopt: no limit.
    std::optional<Seconds> of(const Family& family) const {
        if (budget_.count() <= 0) return std::nullopt;
        double left = 0;
        for (const Family* f = &family; f != todo_.data() + todo_.size(); ++f)
            left += std::max(f->priority, kMinPriority);
        const Seconds used = std::chrono::steady_clock::now() - started_;
        return std::max(budget_ - used, Seconds(0)) * std::max(family.priority, kMinPriority) /
               left;
    }

  private:
    static constexpr double kMinPriority = 1e-3;  // every family gets some time
    const std::vector<Family>& todo_;
    Seconds budget_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<Realizations> realize_stage(const Environment& environment, const RunFolder& run,
                                   const match::Discovery& discovery,
                                   const RealizeRequest& request) {
    const auto todo = families(discovery, request.only);
    if (todo.empty() && !request.only.empty())
        return Error{fmt::format("no pattern or family is called {}", request.only.front()),
                     "`fact discover` lists them", true};
    const auto toolchain = jit::find_toolchain();
    if (!toolchain) return toolchain.error();
    if (environment.worker.empty())
        return Error{"the program fact-worker was not found beside this one",
                     "build with -DFACT_TORCH=ON (./fact does), or set FACT_WORKER"};

    const auto settings = run.settings();
    if (!settings) return settings.error();
    const auto precision = precision_of(run.archive(), settings->allow_tf32);
    if (!precision) return precision.error();
    tune::RealizeOptions options;
    options.run_folder = run.path();
    options.store = environment.store;
    options.toolchain = *toolchain;
    options.weights = run.archive().string();
    options.device = environment.gpu ? "cuda" : "cpu";
    options.device_name = environment.gpu ? environment.gpu->name : "cpu";
    options.worker = environment.worker;
    options.precision = *precision;
    options.jobs = request.jobs > 0
                       ? request.jobs
                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    options.max_candidates = request.effort.candidates;
    options.also = request.also;
    options.arch = settings->arch;
    options.retune = request.retune;
    const registry::Registry registry(environment.registry);
    if (request.registry) {
        options.registry = &registry;
        if (environment.gpu) {
            if (auto fine = writable(environment.registry.own); !fine) return fine.error();
            options.commit = own_commit(environment);
        }
    }

    Realizations done;
    Progress progress("realize", static_cast<int>(todo.size()));
    options.stop_early = request.effort.stop_early;
    tune::IdleWorker worker;
    options.idle_worker = &worker;
    const Shares shares(todo, request.effort.budget_s);
    // While one family is measured, the first candidates of the later ones are compiled.
    std::optional<tune::CompileAhead> ahead;
    if (environment.gpu && todo.size() > 1) {
        std::vector<jit::Unit> units;
        for (std::size_t i = 1; i < todo.size(); ++i) {
            options.call = run.call(todo[i].pattern->id).string();
            for (auto& unit : tune::first_units(*todo[i].pattern, options))
                units.push_back(std::move(unit));
        }
        options.ahead = &ahead.emplace(std::move(units), options);
    }
    for (const auto& family : todo) {
        options.budget = shares.of(family);
        options.call = run.call(family.pattern->id).string();
        options.status = [&](std::string_view what) {
            progress.status(fmt::format("{}: {}", family.name, what));
        };
        auto realization = tune::realize(*family.pattern, options);
        if (!realization) return realization.error();
        realization->folder = run.result(family.name).parent_path();
        // A result that was in this run folder before has its line in the journal already.
        if (!realization->resumed || realization->remembered)
            if (auto noted = append_journal(run, "realize", journal_entry(*realization)); !noted)
                return noted.error();
        progress.step(fmt::format("{}: {}", family.name, outcome_text(*realization)));
        done.emplace(family.name, std::move(*realization));
    }
    const auto realized = std::count_if(done.begin(), done.end(),
                                        [](const auto& entry) { return entry.second.realized; });
    progress.finish(fmt::format("{} of {} families have a kernel{}", realized, todo.size(),
                                realized == 0 || environment.gpu ? ""
                                : realized == 1                  ? ": it compiles, and was not run"
                                                : ": they compile, and were not run"));
    return done;
}

Result<Realizations> read_realizations(const RunFolder& run, const match::Discovery& discovery) {
    Realizations found;
    for (const auto& family : families(discovery, {})) {
        std::error_code ignored;
        if (!fs::exists(run.result(family.name), ignored)) continue;
        const auto text = read_file(run.result(family.name));
        if (!text) return text.error();
        auto realization = tune::realization_from_json(*text);
        if (!realization)
            return Error{fmt::format("{}: {}", run.result(family.name).string(),
                                     realization.error().message),
                         "remove the folder of that file and run `fact realize` again", true};
        realization->folder = run.result(family.name).parent_path();
        if (const auto why = tune::damage(*realization); realization->realized && !why.empty())
            return Error{why, "run `fact realize` again"};
        found.emplace(family.name, std::move(*realization));
    }
    return found;
}

double expected_us(const match::Pattern& pattern, const Realizations& realizations) {
    const auto known = realizations.find(pattern.family);
    if (known == realizations.end() || !known->second.measured)
        return std::min(pattern.cost.expected_us, pattern.cost.unfused_us);
    return std::min(known->second.single.median_us, known->second.baseline_single.median_us);
}

}  // namespace fact::driver
