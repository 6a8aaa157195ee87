#include "driver/pipeline.h"

#include <fmt/format.h>

#include <chrono>

#include "compose/package.h"
#include "driver/ablate.h"
#include "driver/accepted.h"
#include "driver/agent_compose.h"
#include "driver/bench.h"
#include "driver/ceilings.h"
#include "driver/compose.h"
#include "driver/discover.h"
#include "driver/environment.h"
#include "driver/learning.h"
#include "driver/realize.h"
#include "driver/run_state.h"
#include "driver/summary.h"
#include "driver/trace.h"
#include "support/files.h"
#include "support/progress.h"
#include "support/subprocess.h"
#include "support/table.h"
#include "tune/family_files.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

double now() {
    using namespace std::chrono;
    return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

// On destruction, removes the run folder if this command created it and it got no archive.
class FreshFolder {
  public:
    explicit FreshFolder(const RunFolder& run) : run_(run) {
        std::error_code ignored;
        for (auto at = fs::absolute(run.path()).lexically_normal();
             at.has_relative_path() && !fs::exists(at, ignored); at = at.parent_path())
            made_.push_back(at);
    }
    // To be called when this process holds the folder's lock: its files are then ours to remove.
    void take() { taken_ = true; }
    ~FreshFolder() {
        std::error_code ignored;
        if (made_.empty() || fs::exists(run_.archive(), ignored)) return;
        if (taken_) fs::remove_all(run_.path(), ignored);
        for (const auto& folder : made_) fs::remove(folder, ignored);  // only if empty
    }

  private:
    const RunFolder& run_;
    std::vector<fs::path> made_;  // the folders that did not exist, innermost first
    bool taken_ = false;
};

std::string nothing_to_fuse(const Discovered& found, const fs::path& output) {
    return fmt::format(
               "nothing to fuse: {}, none of which starts a pattern that a kernel can compute\n"
               "no package was written: the module is best run as it is\n",
               counted(found.graph.nodes.size(), "operator")) +
           note_of_earlier_package(output);
}

std::string none_composed(const Discovered& found, const Plan& plan, const fs::path& output) {
    std::string text = "no pattern was fused, so no package was written:\n";
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        text += fmt::format("  {}: {}\n", found.discovery.patterns[i].id,
                            one_line(plan.choices[i].why));
    return text + note_of_earlier_package(output);
}

// Removes a package whose results were wrong; returns the message about it.
std::string rejected(const Composed& composed, const fs::path& output) {
    std::string text = "the composed module's results differ from the module's, so its package ";
    if (composed.staged) return text + "was not written\n" + note_of_earlier_package(output);
    // `fact compose` had written the same package earlier, without comparing results.
    std::error_code ignored;
    fs::remove_all(output, ignored);
    return text + "was removed\n";
}

// The locks of the run folder and of the output. Both are first checked to be writable: a long run
// must not fail in its last write.
struct Places {
    FileLock run, output;
};
Result<Places> take_places(const RunFolder& run, const fs::path& output) {
    if (auto fine = ensure_writable_folder(run.path()); !fine) return blame_input(fine.error());
    auto run_lock = run.lock();
    if (!run_lock) return blame_input(run_lock.error());
    auto output_lock = compose::lock_output(output);
    if (!output_lock) return blame_input(output_lock.error());
    if (auto fine = compose::check_output(output); !fine) return blame_input(fine.error());
    return Places{std::move(*run_lock), std::move(*output_lock)};
}

TraceRequest tracing_of(const Settings& settings, bool verbose = false) {
    TraceRequest out{settings.source, settings.dtype, settings.training, settings.without_weights};
    out.verbose = verbose;
    return out;
}

Asked asked(const OptimizeRequest& request) {
    std::error_code ignored;
    Asked out{fs::current_path(ignored).string(),
              request.output ? fs::absolute(*request.output).lexically_normal().string() : "",
              request.effort,
              request.jobs,
              {},
              request.bench,
              request.registry,
              !request.agent.alone,
              request.shipped_rules};
    for (const auto& file : request.also) out.also.push_back(fs::absolute(file).string());
    return out;
}

// Prints the result of a quick stage.
void say(std::string title, std::string_view what) {
    Progress(std::move(title), 0).finish(what);
}

// Removes the reports of an earlier run.
void remove_reports(const RunFolder& run) {
    std::error_code ignored;
    for (const auto* name : {"report.json", "report.txt"}) fs::remove(run.path() / name, ignored);
}

// Called when the composed module's results are wrong. Rejects the kernels whose texts a model
// wrote, in this run or for a learned rule: without a GPU, such texts were checked at small extents
// only. Kernels of the built-in rules stay. The texts written in this run are withdrawn, and
// no later command of the run uses the kernels. Returns false if the plan has no kernel of a model.
Result<bool> reject_authored(const RunFolder& run, const Discovered& found, const Plan& chosen,
                             Realizations& realizations, report::Agent& agent) {
    constexpr const char* kWhy =
        "rejected: with this kernel the composed module's results were wrong";
    bool any = false;
    for (const auto* pattern : chosen.patterns(found.discovery)) {
        if (pattern->author == match::Author::rules) continue;
        any = true;
        auto& realization = realizations[pattern->family];
        realization.realized = false;
        realization.why = kWhy;
        if (auto done = tune::write_family_files(realization, std::nullopt); !done)
            return done.error();
        if (auto done = withdraw_pattern(run, pattern->id); !done) return done.error();
        for (auto& row : agent.rows)
            if (row.id == pattern->id && row.accepted()) {
                row.outcome = kWhy;
                --agent.accepted;
            }
    }
    if (any) say("bench", std::string(kWhy) + "; composing again");
    return any;
}

Result<> finish(const RunFolder& run, report::Report& report, double started) {
    report.statistics.seconds = now() - started;
    credit_agent(report);
    if (auto done = write_file_atomic(run.path() / "report.json", report::to_json(report)); !done)
        return done;
    return write_file_atomic(run.path() / "report.txt", report::to_text(report));
}

}  // namespace

Result<report::Report> optimize(const OptimizeRequest& request) {
    const double started = now();
    const auto& settings = request.settings;
    if (auto fine = check_source(settings.source); !fine) return fine.error();
    const auto environment = find_environment(settings.arch);
    if (!environment) return environment.error();
    if (auto fine = check_agent(*environment, request.agent); !fine) return fine.error();
    if (request.agent.cuda && request.agent.provider != "rules")
        say("agent", "unsafe: the model writes CUDA, which is compiled and run as it is");
    const RunFolder run(request.run_dir.value_or(default_run_folder(settings)));
    const auto output = request.output.value_or(run.package());
    if (request.run_dir)
        if (auto fine = run.check_ours(); !fine) return fine.error();
    std::optional<Places> places;  // destroyed last, after all cleaning up
    FreshFolder tidy(run);
    auto taken = take_places(run, output);
    if (!taken) return taken.error();
    places.emplace(std::move(*taken));
    tidy.take();
    remove_reports(run);
    // run.json is written before anything else: it marks the folder as a run. That of an earlier
    // run is only replaced once this module has been traced.
    if (std::error_code ignored; !fs::exists(run.path() / "run.json", ignored))
        if (auto done = run.remember(settings, asked(request)); !done) return done.error();

    RunWatch watch(run, environment->gpu ? environment->gpu->name : "");
    watch.enter("trace");
    Progress tracing("trace", 0);
    tracing.status(settings.source);
    const auto traced = trace_stage(*environment, tracing_of(settings, request.verbose), run);
    if (!traced) return watch.failed(traced.error());
    tracing.finish(*traced ? "exported" : "unchanged since the last run");
    if (auto done = run.remember(settings, asked(request)); !done)
        return watch.failed(done.error());

    watch.enter("discover");
    const auto ceilings = find_ceilings(*environment, /*gpu=*/"", settings.arch);
    if (!ceilings) return watch.failed(ceilings.error());
    const auto precision = precision_of(run.archive(), settings.allow_tf32);
    if (!precision) return watch.failed(precision.error());
    const auto options = match_options(*ceilings, settings.arch, precision->tf32);
    auto rule_folders = environment->registry;
    if (!request.shipped_rules) rule_folders.shipped.clear();
    const auto learned = request.registry && !request.agent.alone ? learned_rules(rule_folders)
                                                                  : std::vector<StoredRule>{};
    auto found = discover_stage(run, options, learned, !request.agent.alone);
    if (!found) return watch.failed(found.error());
    say("discover", fmt::format("{}, {}", counted(found->graph.nodes.size(), "operator"),
                                counted(found->discovery.patterns.size(), "pattern")));
    const RealizeRequest first{request.effort,   request.jobs,  request.also, {},
                               request.registry, request.retune};
    const auto realize = [&](const RealizeRequest& how) -> Result<Realizations> {
        if (found->discovery.patterns.empty()) return Realizations{};
        watch.enter("realize");
        if (environment->gpu) environment->ahead->start(*environment, "fact.ablate");
        if (request.bench) environment->ahead->start(*environment, "fact.bench");
        return realize_stage(*environment, run, found->discovery, how);
    };
    // First the rules' patterns: a model is told their times.
    auto realizations = realize(first);
    if (!realizations) return watch.failed(realizations.error());
    watch.enter("agent");
    auto again = first;  // results of the first search are reused
    again.retune = false;
    auto agent = agent_stage(run, request.agent, again);
    if (!agent) return watch.failed(agent.error());
    if (agent->accepted > 0) {  // the accepted texts are now among the patterns
        found = discover_stage(run, options, learned, !request.agent.alone);
        if (!found) return watch.failed(found.error());
        realizations = realize(again);
        if (!realizations) return watch.failed(realizations.error());
    }
    if (found->discovery.patterns.empty()) {
        auto report = summarize(*environment, settings, *found, {}, {});
        report.run = run.path().string();
        report.agent = *agent;
        report.no_package = nothing_to_fuse(*found, output);
        if (auto done = finish(run, report, started); !done) return watch.failed(done.error());
        watch.finish();
        return report;
    }

    report::Report report;
    Plan chosen;
    std::optional<Composed> composed;
    const auto compose_and_compare = [&]() -> Result<> {
        watch.enter("choose");
        chosen = plan(*found, *realizations);
        // Other runs of the same module may reuse the times; "": these times are not shared.
        const auto module = request.registry && !request.retune
                                ? module_identity(*environment, tracing_of(settings), run)
                                : std::string();
        auto ablation = ablate_stage(*environment, run, settings, *found, *realizations, module,
                                     chosen, tune::is_quick(request.effort));
        if (!ablation) return ablation.error();
        if (auto done = compose_with_agent(*environment, run, settings, *found, *realizations,
                                           *ablation, request.agent, *agent, chosen);
            !done)
            return done.error();
        watch.enter("compose");
        auto written = compose_stage(run, settings, *found, *realizations, chosen, output);
        if (!written) return written.error();
        composed = std::move(*written);
        say("compose", fmt::format("{} of {} patterns fused{}", chosen.fused(),
                                   found->discovery.patterns.size(),
                                   environment->gpu ? "" : ", chosen by their bounds"));
        report = summarize(*environment, settings, *found, *realizations, chosen, composed->cats);
        report.run = run.path().string();
        report.precision = describe(*precision);
        report.agent = *agent;
        report.ablation = *ablation;
        if (chosen.fused() == 0) {
            environment->ahead->clear();
            report.no_package = none_composed(*found, chosen, output);
            report.failed = report.statistics.realized == 0;
        } else {
            report.package = output.string();
            report.without_weights = settings.without_weights;
        }
        if (chosen.fused() && !request.bench)
            report.whole_note =
                "the package's results were not compared with the module's (--no-bench)";
        if (chosen.fused() && request.bench) {
            watch.enter("bench");
            const auto benched = bench_stage(
                *environment,
                {composed->package, settings.source, settings.dtype, settings.allow_tf32,
                 settings.training, request.verbose, /*peers=*/{}, tune::is_quick(request.effort)},
                run, {composed->inputs, module.empty() ? "" : module + composed->contents});
            if (!benched) return benched.error();
            report.whole = benched->whole;
            report.whole_note = benched->note;
            report.agrees = benched->agrees;
            if (benched->earlier) report.whole_earlier = benched->date;
        }
        return Ok{};
    };
    if (auto made = compose_and_compare(); !made) return watch.failed(made.error());
    if (report.agrees == false) {
        const auto rejected_any = reject_authored(run, *found, chosen, *realizations, *agent);
        if (!rejected_any) return watch.failed(rejected_any.error());
        if (*rejected_any)
            if (auto made = compose_and_compare(); !made) return watch.failed(made.error());
    }
    if (report.agrees == false) {
        report.package.clear();
        report.no_package = rejected(*composed, output);
        report.failed = true;
    }
    if (!report.package.empty())
        if (auto done = accept(run, *composed); !done) return watch.failed(done.error());
    if (!report.package.empty() && request.registry)
        if (auto done =
                learn_what_pays(environment->registry, *found, settings, *realizations, chosen);
            !done)
            return watch.failed(done.error());
    if (auto done = finish(run, report, started); !done) return watch.failed(done.error());
    if (report.failed)
        (void)watch.failed({report.no_package, {}});
    else
        watch.finish();
    return report;
}

}  // namespace fact::driver
