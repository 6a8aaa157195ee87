// Several lowered stages as one translation unit and one launch record.
#pragma once

#include <vector>

#include "lower/pipeline/cut.h"
#include "lower/record/lowered.h"

namespace fact::lower {

// `stages` as lowered one by one, in the pipeline's order. Values kept between them become
// workspaces; the launches run in order, and say which parameters these values follow from.
Lowered link(const Pipeline& pipeline, const std::vector<Lowered>& stages);

}  // namespace fact::lower
