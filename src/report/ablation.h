// The ablation: the whole module with each family of patterns alone, with all but it, with all.
#pragma once

#include <string>
#include <vector>

#include "report/times.h"

namespace fact::report {

struct AblationRow {
    std::string family;
    int patterns = 0;      // of it, in the module
    Times alone, all_but;  // the module with only it; with all the others
    bool kept = true;      // whether the package has it in the end
    Times instead = {};    // with what overlaps it in its place, where something does
};

struct Ablation {
    Times eager, all;
    Times kept;            // with what the package has
    Times rules;           // the fastest without a kernel of a language model's; eager among them
    int patterns = 0;      // in `all`
    bool earlier = false;  // an earlier run measured it, and not this one
    std::vector<AblationRow> rows;

    bool measured() const { return all.runs > 0; }
};

std::string ablation_table(const Ablation& ablation);

}  // namespace fact::report
