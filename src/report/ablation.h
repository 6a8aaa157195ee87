// The ablation: times of the whole module with all families of patterns, and for each family with
// it alone and with all others.
#pragma once

#include <string>
#include <vector>

#include "report/times.h"

namespace fact::report {

struct AblationRow {
    std::string family;
    int patterns = 0;      // of this family in the module
    Times alone, all_but;  // the module with only this family; with all others
    bool kept = true;      // whether the final package has it
    Times instead = {};    // with the patterns that overlap this family in its place, if any do
};

struct Ablation {
    Times eager, all;      // the original module; with all families
    Times kept;            // with the families of the final package
    Times rules;           // the fastest without a language model's kernels; eager counts, too
    int patterns = 0;      // in `all`
    bool earlier = false;  // measured by an earlier run, not by this one
    std::vector<AblationRow> rows;

    bool measured() const { return all.runs > 0; }
};

std::string ablation_table(const Ablation& ablation);

}  // namespace fact::report
