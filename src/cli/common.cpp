// Messages, exit codes and options that several subcommands share; declared in cli/commands.h.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cli/commands.h"
#include "report/report.h"
#include "support/subprocess.h"

namespace fact::cli {

namespace {

bool failures_in_json = false;  // set once per process

}  // namespace

void answer_failures_in_json() {
    failures_in_json = true;
}

int fail(const Error& error, std::string_view after_interrupt) {
    const Error shown = interrupted() ? Error{std::string(after_interrupt), {}} : error;
    if (failures_in_json) print(report::to_json(shown));
    std::fflush(stdout);
    if (interrupted()) {
        fmt::print(stderr, "{}\n", after_interrupt);
        return kInterrupted;
    }
    fmt::print(stderr, "error: {}\n", error.text());
    return error.bad_input ? kBadInput : kFailed;
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

int finish(int code) {
    const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    if (!lost || code != kDone) return code;
    fmt::print(stderr, "error: cannot write to standard output: {}\n", std::strerror(errno));
    return kFailed;
}

void add_dtype(CLI::App& app, std::string& dtype) {
    app.add_option("--dtype", dtype, "Cast the module first (default: its own dtype)")
        ->check(CLI::IsMember({"bf16", "fp16"}));
}

void add_without_weights(CLI::App& app, bool& without_weights) {
    app.add_flag("--without-weights", without_weights,
                 "Leave the parameters out of the archive and the package: pass them with "
                 "fact.load(PACKAGE, "
                 "weights=MODULE)");
}

void add_training(CLI::App& app, bool& training) {
    app.add_flag("--training", training,
                 "Trace the module in training mode: norms use the batch's statistics, dropout is "
                 "active");
}

void add_arch(CLI::App& app, std::string& arch) {
    app.add_option("--arch", arch, "Architecture of the kernels")->capture_default_str();
}

void add_allow_tf32(CLI::App& app, bool& allow) {
    app.add_flag("--allow-tf32", allow,
                 "Compute fp32 products in TF32's precision: faster, but less accurate than fp32");
}

void add_registry_use(CLI::App& app, bool& registry, bool& retune) {
    auto* none = app.add_flag("!--no-registry", registry,
                              "Neither use results of earlier runs nor store those of this one");
    app.add_flag("--retune", retune, "Search again even for kernels that are known already")
        ->excludes(none);
}

namespace {

// Replaces "90s", "2m", "1.5m" or plain seconds by seconds; returns what is wrong, or "".
std::string budget_seconds(std::string& text) {
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view unit(end, text.data() + text.size());
    const double scale = unit.empty() || unit == "s" ? 1
                         : unit == "m"               ? 60
                         : unit == "h"               ? 3600
                                                     : 0;
    if (failure != std::errc() || scale == 0 || !(number > 0) || number * scale > 1e6)
        return fmt::format("'{}' is not a time: write 90s, 2m or 1h", text);
    text = fmt::format("{}", number * scale);
    return {};
}

// Replaces the name of a level by its number of candidates; returns what is wrong, or "".
std::string effort_count(std::string& text) {
    for (const auto& [name, count] :
         {std::pair{"quick", tune::kQuickCandidates}, {"normal", 16}, {"max", 64}})
        if (text == name) {
            text = std::to_string(count);
            return {};
        }
    int count = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failure != std::errc() || *end != 0 || count < 1 || count > 1000)
        return "give quick, normal, max, or a number of candidates per family from 1 to 1000";
    return {};
}

}  // namespace

void add_effort(CLI::App& app, tune::Effort& effort) {
    app.add_option("--effort", effort,
                   "quick (4 candidates per family, fewer runs, no sustained times), "
                   "normal (16, the default with a GPU; one without), "
                   "max (64), or a number")
        ->transform(CLI::Validator(effort_count, "quick|normal|max|N"));
    app.add_option(
           "--budget", effort.budget_s,
           "Time for all searches together, such as 90s or 2m; after that the best so far is used")
        ->transform(CLI::Validator(budget_seconds, "TIME"));
    app.add_flag(
        "!--try-all", effort.stop_early,
        "Try every candidate, even if the bound or the cost model says it is not worth it");
}

void add_verbose(CLI::App& app, bool& verbose) {
    app.add_flag("--verbose", verbose, "Show exceptions of the module with their traceback");
}

CLI::Validator is_positive() {
    const auto check = [](const std::string& text) {
        double number = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool positive = failure == std::errc() && end == text.data() + text.size() &&
                              std::isfinite(number) && number > 0;
        return positive ? std::string() : fmt::format("'{}' is not a number above zero", text);
    };
    return CLI::Validator(check, "POSITIVE");
}

void add_jobs(CLI::App& app, int& jobs) {
    app.add_option("--jobs", jobs, "Compilers at a time (default: one per core)")
        ->check(CLI::Range(1, 1000));
}

}  // namespace fact::cli
