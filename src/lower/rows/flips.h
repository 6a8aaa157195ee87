// Flips in row kernels and epilogues: a flipped value is computed from operands that are read
// backwards.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

using Flips = std::set<ir::DimId>;  // dimensions along which something is read backwards

// The same kernel with flips of parameters, coordinates and products only. What was computed
// between these and a flip is computed a second time.
ir::Kernel flips_at_leaves(const ir::Kernel& kernel);

struct FlippedLeaf {  // a parameter or a coordinate
    ir::ExprId leaf{};
    Flips flips;
};

// What a Flip node of a kernel made by flips_at_leaves reads; nullopt for other nodes.
std::optional<FlippedLeaf> flipped_leaf(const ir::Kernel& kernel, ir::ExprId id);

// Where a flip along `flipped` moves elements in an array over `dims`, the last of them fastest.
struct FlipSpan {
    std::int64_t step = 1;    // elements from one index of the flipped dimension to the next
    std::int64_t length = 1;  // elements of a group that no element leaves when it is flipped
};
FlipSpan flip_span(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims, ir::DimId flipped);

// For each parameter of a kernel made by flips_at_leaves, the different ways of reading it: each is
// the set of dimensions that are read backwards, empty if it is read forwards.
std::map<std::uint32_t, std::set<Flips>> flips_per_param(const ir::Kernel& kernel);

}  // namespace fact::lower
