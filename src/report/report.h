// The result of a run on one page: what was fused, how exact and how fast it is, what was not
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

// Relative error against f64, of the kernel and of torch in the module's own dtype: the worst
// check.
struct Errors {
    double kernel = 0, eager = 0;
    int checks = 0;  // 0: not checked
};

struct PatternRow {
    std::string id, where, kernel, precision, schedule;
    bool fused = false;
    std::string why;        // when it is not fused
    Errors text, compiled;  // of the interpreted text; of the kernel as a GPU ran it
    Times single, baseline_single, sustained, baseline_sustained;
    double bound_us = 0;
    double saves_us = 0;   // in the whole module, where that was measured
    bool earlier = false;  // an earlier run verified and measured it, and this one did not
};

struct ModuleRow {
    std::string name;  // "eager", "exported graph", "torch.compile", "composed"
    Times single, sustained;
    std::string why;        // when it was not measured
    double peak_bytes = 0;  // beyond inputs and weights; 0: not measured
    std::string sustained_of =
        {};  // what was repeated for the sustained time: "calls", "a CUDA graph"
};

// Where the operators of the graph are: `all` is the sum of the others.
struct Operators {
    int all = 0;
    int fused = 0;      // in patterns that the package has
    int not_fused = 0;  // in other patterns only
    int left_alone = 0, idle = 0;
};

// How the workflow itself went.
struct Statistics {
    int patterns = 0, families = 0, composed = 0;
    int realized = 0;  // families with a kernel that the compiler took
    int texts = 0;     // of those, whose text agrees with torch where it is interpreted
    int verified = 0;  // of those, whose kernel ran on a GPU and passed
    int earlier = 0;   // of those, that an earlier run did
    std::map<std::string, int> candidates;  // by outcome
    int compiled = 0, cached = 0;
    int measurements = 0;  // of candidates, each counted as often as it was measured
    double seconds = 0;
};

struct Report {
    std::string source, dtype, device;  // device: "" without a GPU
    std::string why_not_measured;       // set without a GPU
    std::string precision;              // torch's settings, in words
    std::vector<PatternRow> patterns;
    std::vector<ModuleRow> whole;
    Ablation ablation;
    std::string whole_note;      // how the composed module compares numerically, or why it was not
    std::optional<bool> agrees;  // nothing: its results were not compared
    std::string whole_earlier;   // when the whole was measured, where an earlier run did that
    std::vector<match::LeftAlone> left_alone, idle;
    Operators operators;
    std::vector<std::string> incidents;  // candidates that hung, crashed or were wrong, by name
    Statistics statistics;
    Agent agent;
    std::string run;               // folder with the files of the run
    std::string package;           // path; "" when none was written
    std::string no_package;        // why not
    bool failed = false;           // no family got a kernel, or the package was wrong
    bool without_weights = false;  // the package asks for them when it is loaded
};

std::string to_text(const Report& report);
std::string to_json(const Report& report);
// {"error": {"message": ..., "hint": ...}}: what stands in for a report where a run fails.
std::string to_json(const Error& error);

// Eager and the others, each against eager.
std::string module_table(const std::vector<ModuleRow>& whole);
// The reasons products were left alone, one line each; equal ones, and those of layers that differ
// only in the numbers of their names, are joined.
std::string reasons(const std::vector<match::LeftAlone>& left_alone, std::size_t most = 12);

}  // namespace fact::report
