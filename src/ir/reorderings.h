// Permutes and views: the same elements in another order or under other dimensions.
#pragma once

#include "ir/kernel.h"

namespace fact::ir {

// The value that a chain of permutes and views starts from; a stored value ends the chain.
ExprId behind_reorderings(const Kernel& kernel, ExprId id);

// Whether the expression is a view that only renames dimensions.
bool is_renaming(const Kernel& kernel, ExprId id);
bool is_renaming(const Kernel& kernel, const std::vector<DimId>& from,
                 const std::vector<DimId>& to);

// The same kernel, with a permute or view that is written twice as one value.
Kernel share_reorderings(const Kernel& kernel);

}  // namespace fact::ir
