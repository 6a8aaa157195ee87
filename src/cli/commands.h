// The subcommands: one function per file, which adds the subcommand and sets its action.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "driver/pipeline.h"
#include "support/result.h"
#include "tune/effort.h"

namespace fact::cli {

enum ExitCode { kDone = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130 };

using Action = std::function<int()>;  // returns the exit code

void add_optimize(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_discover(CLI::App& app, Action& action);
void add_realize(CLI::App& app, Action& action);
void add_compose(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_sol(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_registry(CLI::App& app, Action& action);
void add_runs(CLI::App& app, Action& action);
void add_act(CLI::App& app, Action& action);
void add_mcp(CLI::App& app, Action& action);
void add_examples(CLI::App& app, Action& action);
void add_kernel(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);

// What `fact optimize` does once its options are parsed.
int run_optimize(const driver::OptimizeRequest& request, bool json);

// Prints the error, or `after_interrupt` if the user has interrupted the program, to standard
// error; returns the exit code.
int fail(const Error& error, std::string_view after_interrupt = "interrupted");
// From now on `fail` also prints the error as JSON to standard output.
void answer_failures_in_json();
void print(std::string_view text);
// The exit code: `code`, or a failure if the output could not be written to standard output.
int finish(int code);

// Options shared by several subcommands.
void add_dtype(CLI::App& app, std::string& dtype);
void add_training(CLI::App& app, bool& training);
void add_without_weights(CLI::App& app, bool& without_weights);
void add_arch(CLI::App& app, std::string& arch);
void add_allow_tf32(CLI::App& app, bool& allow);
void add_registry_use(CLI::App& app, bool& registry, bool& retune);
// --effort, --budget, --try-all: how widely a search looks.
void add_effort(CLI::App& app, tune::Effort& effort);
void add_jobs(CLI::App& app, int& jobs);
// Refuses numbers that are not above zero, and what is no number.
CLI::Validator is_positive();
void add_verbose(CLI::App& app, bool& verbose);

}  // namespace fact::cli
