// Two runs side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/times.h"

namespace fact::report {

struct ComparedRun {
    std::string folder, source, dtype, device;  // device: "" without a GPU
    std::string not_measured;                   // why there are no times
    std::string earlier;  // when an earlier run measured the whole module; "": this run did
    int patterns = 0, fused = 0;
};

// A setting with another value in run B than in run A.
struct Difference {
    std::string name, a, b;
};

struct ComparedModule {
    std::string name;  // "eager", "torch.compile", "composed"
    Times a_single = {}, b_single = {}, a_sustained = {}, b_sustained = {};
};

// What became of a set of operators in each run.
struct ComparedPattern {
    std::string a, b;   // the patterns' ids; "": the run has no pattern of these operators
    std::string where;  // "model.py:41, blocks.0.mlp"
    int count = 1;      // patterns with the same kernels and outcome
    bool a_fused = false, b_fused = false;
    std::string a_why, b_why;  // why it was found but not fused
    Times a_single = {}, b_single = {}, a_sustained = {}, b_sustained = {};
};

// A figure of what the language model did: calls, tokens, cost.
struct ComparedCount {
    std::string name;
    std::optional<double> a, b;  // nullopt: not known, or no model was asked
};

struct Comparison {
    ComparedRun a, b;
    std::vector<std::string> notes;  // what limits the comparison
    std::vector<Difference> settings;
    std::vector<ComparedModule> whole;
    std::vector<ComparedPattern> patterns;  // fused in at least one run
    std::vector<ComparedCount> agent;       // empty if neither run asked a model
};

std::string to_text(const Comparison& comparison);
std::string to_json(const Comparison& comparison);

}  // namespace fact::report
