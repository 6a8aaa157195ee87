// Statistics of rows that the product which reads them can compute in its own kernel.
#pragma once

#include <functional>

#include "lower/pipeline/cut.h"

namespace fact::lower {

// Merges row stages that only compute statistics of a product's first operand, for that product's
// epilogue, into the product's stage, if `is_supported` for that stage.
void merge_statistics(Pipeline& pipeline, const std::function<bool(const Stage&)>& is_supported);

}  // namespace fact::lower
