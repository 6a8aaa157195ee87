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
    std::string earlier;  // when the whole was measured, where an earlier run did that
    int patterns = 0, fused = 0;
};

struct Difference {
    std::string name, a, b;
};

struct ComparedModule {
    std::string name;  // "eager", "torch.compile", "composed"
    Times a_single = {}, b_single = {}, a_sustained = {}, b_sustained = {};
};

// What some operators became in either run.
struct ComparedPattern {
    std::string a, b;  // the patterns' ids; "" where the run found none of these operators
    std::string where;
    int count = 1;  // patterns of the same kernels with the same fate
    bool a_fused = false, b_fused = false;
    std::string a_why, b_why;  // where it was found and not fused
    Times a_single = {}, b_single = {}, a_sustained = {}, b_sustained = {};
};

struct ComparedCount {
    std::string name;
    std::optional<double> a, b;  // nothing: not known, or no model was asked
};

struct Comparison {
    ComparedRun a, b;
    std::vector<std::string> notes;  // what the figures cannot say
    std::vector<Difference> settings;
    std::vector<ComparedModule> whole;
    std::vector<ComparedPattern> patterns;  // fused in one of them at least
    std::vector<ComparedCount> agent;       // empty where neither asked a model
};

std::string to_text(const Comparison& comparison);
std::string to_json(const Comparison& comparison);

}  // namespace fact::report
