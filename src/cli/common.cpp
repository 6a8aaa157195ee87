#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "support/subprocess.h"

namespace fact::cli {

int fail(const Error& error, std::string_view after_interrupt) {
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

void add_dtype(CLI::App& app, std::string& dtype) {
    app.add_option("--dtype", dtype, "Cast the module first (default: its own dtype)")
        ->check(CLI::IsMember({"bf16", "fp16"}));
}

void add_training(CLI::App& app, bool& training) {
    app.add_flag("--training", training,
                 "Take the module in training mode: norms by the batch's statistics, dropout that "
                 "drops");
}

void add_arch(CLI::App& app, std::string& arch) {
    app.add_option("--arch", arch, "Architecture of the kernels")->capture_default_str();
}

void add_allow_tf32(CLI::App& app, bool& allow) {
    app.add_flag("--allow-tf32", allow,
                 "Compute fp32 products in one TF32 product: faster, and less exact than fp32");
}

void add_registry_use(CLI::App& app, bool& registry, bool& retune) {
    auto* none =
        app.add_flag("!--no-registry", registry,
                     "Neither use what earlier runs measured nor remember what this one does");
    app.add_flag("--retune", retune, "Search again for kernels that are known already")
        ->excludes(none);
}

void add_effort(CLI::App& app, int& effort) {
    app.add_option("--effort", effort, "Candidates a family (default: 16 with a GPU, one without)")
        ->check(CLI::Range(1, 1000));
}

void add_jobs(CLI::App& app, int& jobs) {
    app.add_option("--jobs", jobs, "Compilers at a time (default: one a core)")
        ->check(CLI::Range(1, 1000));
}

}  // namespace fact::cli
