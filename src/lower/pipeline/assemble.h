// The stages of a kernel, once it is known which of its values are stored in memory between them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/pipeline/cut.h"
#include "lower/pipeline/extract.h"

namespace fact::lower {

struct StoredValues {
    std::map<ir::ExprId, std::string> reasons;  // the stored values, and why each is stored
    // What each attention with several outputs writes, its weighted sum first.
    std::vector<std::vector<ir::ExprId>> attention_outputs;

    std::set<ir::ExprId> all() const;
};

// What stages write: stored values and outputs, operands first.
std::vector<ir::ExprId> stage_roots(const ir::Kernel& kernel, const StoredValues& stored);

// The kernel of a stage that writes the roots and may read the values in `read`. That of a product
// has the product's dimensions only (merge_dims), and flips only of what its epilogue reads
// (flips_at_leaves).
Extracted extract_stage(const ir::Kernel& kernel, const std::vector<ir::ExprId>& roots,
                        const std::set<ir::ExprId>& read);

// The stage that computes an output also writes it, unless other stages need the output's unrounded
// value: then that is stored, and a stage of its own copies it to the output.
Pipeline assemble(const ir::Kernel& kernel, const StoredValues& stored);

}  // namespace fact::lower
