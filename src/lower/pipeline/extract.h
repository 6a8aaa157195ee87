// A part of a kernel as a kernel of its own.
#pragma once

#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

struct Extracted {
    ir::Kernel kernel;
    std::vector<ir::ExprId> leaves;  // what each of its parameters is in the whole
    // Parameters of the whole that follow: not read, but they tell extents that the leaves do not.
    std::vector<std::uint32_t> witnesses;
};

// The kernel that computes the roots from parameters and from the values in `kept`. Its outputs
// have the roots' types and names.
Extracted extract(const ir::Kernel& whole, const std::vector<ir::ExprId>& roots,
                  const std::set<ir::ExprId>& kept);
inline Extracted extract(const ir::Kernel& whole, ir::ExprId root,
                         const std::set<ir::ExprId>& kept) {
    return extract(whole, std::vector{root}, kept);
}

}  // namespace fact::lower
