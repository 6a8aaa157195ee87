#include "driver/trial_times.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "driver/memo.h"
#include "driver/python_ahead.h"
#include "driver/run_state.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

Times times_from(const nlohmann::json& json) {
    return {get_finite(json, "median_us"), get_finite(json, "low_us"), get_finite(json, "high_us"),
            get_int<int>(json, "runs")};
}

// Reads the output of fact.ablate; `packages` is how many were timed.
Result<TrialTimes> read_times(const std::string& text, std::size_t packages, std::string how) {
    return decoding<TrialTimes>("the times of the trial packages cannot be read", "", [&] {
        const auto json = parse_json(text);
        TrialTimes times{times_from(field(json, "eager")), {}, std::move(how), false};
        const auto& trials = to_array(field(json, "times"));
        if (trials.size() < packages)
            throw SchemaError(fmt::format("fact.ablate timed {} packages instead of {}",
                                          trials.size(), packages));
        for (std::size_t i = 0; i < packages; ++i) times.trials.push_back(times_from(trials[i]));
        return times;
    });
}

Result<std::string> measure(const Environment& environment, const Settings& settings,
                            const std::vector<std::string>& packages, bool brief,
                            const fs::path& result) {
    std::vector<std::string> arguments{settings.source};
    arguments.insert(arguments.end(), packages.begin(), packages.end());
    arguments.insert(arguments.end(), {"--json", result.string()});
    if (!settings.dtype.empty()) arguments.insert(arguments.end(), {"--dtype", settings.dtype});
    if (settings.allow_tf32) arguments.push_back("--allow-tf32");
    if (settings.training) arguments.push_back("--training");
    if (brief) arguments.push_back("--brief");
    const auto exit = run_python(environment, "fact.ablate", arguments);
    if (!exit) return exit.error();
    if (interrupted()) return Error{"interrupted", {}};
    if (const auto bad = bad_input_of(*exit)) return *bad;
    if (!exit->ok()) return Error{"the trial packages cannot be timed", exit->err};
    return read_file(result);
}

}  // namespace

Result<TrialTimes> TrialBench::times(
    const std::string& name, const std::vector<std::vector<const match::Pattern*>>& trials) const {
    const auto file = run_.path() / (name + ".json");
    // What the times depend on within this run, and in any run of the same module.
    std::string inputs = environment_.gpu->name, anywhere = module_;
    std::vector<compose::Package> packages;
    for (const auto& patterns : trials) {
        auto package = assemble(run_, settings_, found_, realizations_, patterns);
        if (!package) return package.error();
        const auto contents = package_contents(*package);
        if (!contents) return contents.error();
        inputs += package_inputs(*contents, run_);
        anywhere += *contents;
        packages.push_back(std::move(*package));
    }
    // Brief times are not those of a run that asks for all.
    if (brief_) inputs += "\nbrief", anywhere += "\nbrief";
    if (const auto text = read_file(file); text && run_.current(name, inputs)) {
        auto before = read_times(*text, trials.size(), "unchanged since the last run");
        if (before) before->earlier = true;
        return before;
    }
    std::string text, how = "known from an earlier run";
    bool earlier = true;
    if (!module_.empty()) text = find_memo(environment_, "ablation", anywhere).value_or("");
    if (!read_times(text, trials.size(), "")) {  // there is no memo, or it is damaged
        how = "measured in the whole module";
        earlier = false;
        auto fresh = measured(packages);
        if (!fresh) return fresh.error();
        text = std::move(*fresh);
        if (auto done = append_journal(run_, "choose", text); !done) return done.error();
        if (!module_.empty())
            if (auto done = store_memo(environment_, "ablation", anywhere, text); !done)
                return done.error();
    }
    if (auto done = write_file_atomic(file, text); !done) return done.error();
    if (auto done = run_.stamp(name, inputs); !done) return done.error();
    auto times = read_times(text, trials.size(), how);
    if (times) times->earlier = earlier;
    return times;
}

Result<std::string> TrialBench::measured(const std::vector<compose::Package>& packages) const {
    const TemporaryFolder work(run_.path(), ".trials");
    std::vector<std::string> folders;
    for (std::size_t i = 0; i < packages.size(); ++i) {
        folders.push_back((work.path() / std::to_string(i)).string());
        if (auto done = compose::write_package(packages[i], folders.back()); !done)
            return done.error();
    }
    return measure(environment_, settings_, folders, brief_, work.path() / "times.json");
}

}  // namespace fact::driver
