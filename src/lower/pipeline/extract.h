// Makes a part of a kernel a kernel of its own.
#pragma once

#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

struct Extracted {
    ir::Kernel kernel;
    // For each parameter, the value of the whole kernel that it stands for.
    std::vector<ir::ExprId> leaves;
    // Parameters of the whole kernel that follow as further parameters: they are not read, but
    // supply extents that the leaves do not.
    std::vector<std::uint32_t> witnesses;
    // For each parameter and then each output whose dimensions are runs of the tensor's own
    // (merge_dims): the lengths of these runs; empty for others.
    std::vector<std::vector<int>> merged = {};
};

// The kernel that computes the roots from parameters and from the values in `stored`. Its outputs
// have the roots' types and names.
Extracted extract(const ir::Kernel& whole, const std::vector<ir::ExprId>& roots,
                  const std::set<ir::ExprId>& stored);
inline Extracted extract(const ir::Kernel& whole, ir::ExprId root,
                         const std::set<ir::ExprId>& stored) {
    return extract(whole, std::vector{root}, stored);
}

// Whether the parameters supply every extent that the kernel needs.
bool supplies_extents(const ir::Kernel& kernel);

}  // namespace fact::lower
