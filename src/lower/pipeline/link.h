// Several lowered stages as one translation unit and one launch record.
#pragma once

#include <vector>

#include "lower/pipeline/cut.h"
#include "lower/record/lowered.h"

namespace fact::lower {

// `stages` are lowered one by one, in the pipeline's order. Intermediates become workspaces; the
// launches run in order, and name the parameters that the intermediates are computed from.
Lowered link(const Pipeline& pipeline, const std::vector<Lowered>& stages);

}  // namespace fact::lower
