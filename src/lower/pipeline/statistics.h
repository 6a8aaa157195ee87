// Statistics of rows, which the kernel of the product that reads them finds by itself.
#pragma once

#include <functional>

#include "lower/pipeline/cut.h"

namespace fact::lower {

// Row stages that only find statistics of a product's first operand, for that product's epilogue,
// become a part of its stage where `may` says that its kernel can.
void take_statistics_along(Pipeline& pipeline, const std::function<bool(const Stage&)>& may);

}  // namespace fact::lower
