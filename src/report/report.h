// The result of a run on one page: what was fused, how accurate and how fast it is, what was not
// measured and why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "match/patterns/pattern.h"
#include "report/ablation.h"
#include "report/agent.h"
#include "report/times.h"

namespace fact::report {

// Relative error against f64 in the worst check: the kernel's, and that of torch in the module's
// own dtype.
struct Errors {
    double kernel = 0, eager = 0;
    int checks = 0;  // 0: not checked
};

struct PatternRow {
    std::string id;
    std::string where;   // "model.py:41, blocks.0.mlp"
    std::string kernel;  // the family of patterns that share it
    std::string precision, schedule;
    bool fused = false;
    std::string why;        // why it is not fused
    Errors text, compiled;  // of the interpreted text; of the kernel on a GPU
    // The baseline is the same operators as torch.export wrote them, run by torch.
    Times single, baseline_single, sustained, baseline_sustained;
    double bound_us = 0;   // calibrated
    double saves_us = 0;   // in the whole module; 0 if that was not measured
    bool earlier = false;  // verified and measured by an earlier run, not by this one
};

struct ModuleRow {
    std::string name;  // "eager", "exported graph", "torch.compile", "composed"
    Times single, sustained;
    std::string why;        // why it was not measured
    double peak_bytes = 0;  // beyond inputs and weights; 0: not measured
    std::string sustained_of =
        {};  // what was repeated for the sustained time: "calls", "a CUDA graph"
};

// How many operators the graph has, by what became of them; `all` is the sum of the others.
struct Operators {
    int all = 0;
    int fused = 0;       // in patterns that the package has
    int not_fused = 0;   // only in patterns that the package does not have
    int left_alone = 0;  // in no pattern
    int idle = 0;        // without work, such as views
};

// How the workflow itself went.
struct Statistics {
    int patterns = 0, families = 0;         // that were found
    int composed = 0;                       // patterns in the package
    int realized = 0;                       // families with a kernel that compiled
    int texts = 0;                          // of `realized`: the interpreted text agrees with torch
    int verified = 0;                       // of `realized`: the kernel ran on a GPU and passed
    int earlier = 0;                        // of `realized`: known from an earlier run
    std::map<std::string, int> candidates;  // by outcome
    int compiled = 0, cached = 0;           // candidates: compiled now, compiled before
    int measurements = 0;                   // of candidates; one may be measured several times
    double seconds = 0;
};

struct Report {
    std::string source, dtype, device;  // device: "" without a GPU
    std::string why_not_measured;       // "" with a GPU
    std::string precision;              // torch's settings, in words
    std::vector<PatternRow> patterns;
    std::vector<ModuleRow> whole;
    Ablation ablation;
    std::string whole_note;      // how the composed module compares numerically, or why it was not
    std::optional<bool> agrees;  // nullopt: its results were not compared
    std::string whole_earlier;   // when an earlier run measured the whole module; "": this run did
    std::vector<match::LeftAlone> left_alone, idle;
    Operators operators;
    std::vector<std::string> incidents;  // candidates that hung, crashed or were wrong, by name
    Statistics statistics;
    Agent agent;
    std::string run;               // folder with the files of the run
    std::string package;           // path; "" when none was written
    std::string no_package;        // why none was written
    bool failed = false;           // no family got a kernel, or the package was wrong
    bool without_weights = false;  // the package asks for them when it is loaded
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);
// {"error": {"message": ..., "hint": ...}}: printed instead of a report if a run fails.
std::string to_json(const Error& error);

// Eager and the others, with their speedups over eager.
std::string module_table(const std::vector<ModuleRow>& whole);
// The reasons why operators were left alone, one line each; equal ones, and those of layers that
// differ only in the numbers of their names, are merged.
std::string reasons(const std::vector<match::LeftAlone>& left_alone, std::size_t most = 12);

}  // namespace fact::report
