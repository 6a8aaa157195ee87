// Outputs of a kernel, and values kept between its stages, that one row kernel can write.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The roots, grouped under the last of each group: rows of one group are the same, and all its
// members read some of the memory that the last one reads. What is no row kernel stays alone.
// `kept` are values that stages read from memory.
std::map<ir::ExprId, std::vector<ir::ExprId>> row_groups(const ir::Kernel& kernel,
                                                         const std::vector<ir::ExprId>& roots,
                                                         const std::set<ir::ExprId>& kept);

// Kept values under the last of those that one row kernel writes, since they come of the same rows:
// a mean and a deviation. Most are alone.
std::map<ir::ExprId, std::vector<ir::ExprId>> kept_groups(const ir::Kernel& kernel,
                                                          const std::set<ir::ExprId>& kept);

}  // namespace fact::lower
