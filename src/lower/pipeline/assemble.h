// The stages of a kernel, once it is known which of its values are kept in memory between them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/pipeline/cut.h"
#include "lower/pipeline/extract.h"

namespace fact::lower {

struct KeptValues {
    std::map<ir::ExprId, std::string> reasons;      // why each of them is
    std::vector<std::vector<ir::ExprId>> together;  // what attentions write, weighted sums first

    std::set<ir::ExprId> all() const;
};

// What stages write: kept values and outputs, operands first.
std::vector<ir::ExprId> stage_roots(const ir::Kernel& kernel, const KeptValues& kept);

// The kernel of a stage that writes the roots and reads those of `taken`. An epilogue reads what is
// beside its sums at flipped places, too.
Extracted extract_stage(const ir::Kernel& kernel, const std::vector<ir::ExprId>& roots,
                        const std::set<ir::ExprId>& taken);

// An output is written by the stage that computes it, unless others read it unrounded.
Pipeline assemble(const ir::Kernel& kernel, const KeptValues& kept);

}  // namespace fact::lower
