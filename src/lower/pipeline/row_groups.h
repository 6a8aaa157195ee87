// Which outputs and intermediates one row kernel writes together.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// Groups of `roots` (values to be written), by their last members: all members have the same row
// dimensions, along the row or one value for each, and read a tensor that the last one reads. A
// value that no row kernel can compute is a group by itself. `stored` are values that stages read
// from memory.
std::map<ir::ExprId, std::vector<ir::ExprId>> row_groups(const ir::Kernel& kernel,
                                                         const std::vector<ir::ExprId>& roots,
                                                         const std::set<ir::ExprId>& stored);

// The same for intermediates that are reductions of the same tensors, such as a mean and a
// deviation, by the last intermediate. Those of `outputs` that are one value a row, computed from a
// group's, follow its intermediates. Most groups have one member.
std::map<ir::ExprId, std::vector<ir::ExprId>> stored_groups(const ir::Kernel& kernel,
                                                            const std::set<ir::ExprId>& stored,
                                                            const std::vector<ir::ExprId>& outputs);

}  // namespace fact::lower
