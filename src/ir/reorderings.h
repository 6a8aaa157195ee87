// Values that are the same elements in another order.
#pragma once

#include "ir/kernel.h"

namespace fact::ir {

// What lies behind any number of permutes and views; a value that is stored is not looked through.
ExprId behind_reorderings(const Kernel& kernel, ExprId id);

// Whether it is a view that gives dimensions other names and nothing else.
bool is_renaming(const Kernel& kernel, ExprId id);
bool is_renaming(const Kernel& kernel, const std::vector<DimId>& from,
                 const std::vector<DimId>& to);

}  // namespace fact::ir
