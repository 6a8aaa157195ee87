// Flips of a row kernel, and of what follows a product: a value that is read backwards is computed
// from operands read backwards.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

using Flips = std::set<ir::DimId>;  // along which dimensions something is read backwards

// The same kernel with flips of parameters, coordinates and products alone, whatever stood between
// them and the flip computed a second time.
ir::Kernel flips_at_leaves(const ir::Kernel& kernel);

struct FlippedLeaf {  // a parameter or a coordinate
    ir::ExprId leaf{};
    Flips flips;
};

// What a Flip node of such a kernel reads; nothing for other nodes.
std::optional<FlippedLeaf> flipped_leaf(const ir::Kernel& kernel, ir::ExprId id);

// How many elements along `dims`, the last of them fastest, lie between an element and its partner
// along the flipped one, and how many have their partner among themselves.
struct FlipSpan {
    std::int64_t step = 1, length = 1;
};
FlipSpan flip_span(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims, ir::DimId flipped);

// The ways in which such a kernel reads each of its parameters.
std::map<std::uint32_t, std::set<Flips>> ways_read(const ir::Kernel& kernel);

}  // namespace fact::lower
