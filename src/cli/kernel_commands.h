// The subcommands of `fact kernel`, and the options they share.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "target/arch.h"
#include "tools/extents.h"
#include "tools/kernel_source.h"

namespace fact::cli {

void add_kernel_check(CLI::App& app, Action& action);
void add_kernel_fmt(CLI::App& app, Action& action);
void add_kernel_run(CLI::App& app, Action& action);
void add_kernel_emit(CLI::App& app, Action& action);
void add_kernel_build(CLI::App& app, Action& action);
void add_kernel_explain(CLI::App& app, Action& action);
void add_kernel_schedules(CLI::App& app, Action& action);

// Which text, which kernel in it, and the extents of its dimensions.
struct KernelOptions {
    std::string file, kernel;      // kernel: "" if the text has only one
    std::vector<std::string> set;  // "M=128"
};
void add_kernel_file(CLI::App& app, std::string& file);
void add_kernel_choice(CLI::App& app, KernelOptions& options);

// The compiled text, with the selected kernel.
struct Loaded {
    tools::KernelSource source;
    dsl::Program program;
    const ir::Kernel* kernel = nullptr;  // in the program; stays valid if that is moved
};
Result<Loaded> load(const KernelOptions& options);

// Which kernel is emitted, and how.
struct EmitOptions {
    KernelOptions kernel;
    std::string arch{kDefaultArch};
    std::string schedule;    // entries that replace the text's schedule; "": none
    std::string dump_after;  // the pass (of lower::kPasses) to print the kernel after; "": none
    bool tma = true;         // whether skeletons that need tensor maps may be used
    bool json = false;
};
void add_emit_options(CLI::App& app, EmitOptions& options);

}  // namespace fact::cli
