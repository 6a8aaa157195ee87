// A sort key of nodes, for finding equal ones without comparing every pair.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Equal nodes have equal shapes; different nodes nearly always have different ones.
struct NodeShape {
    std::size_t kind = 0;      // the alternative of Node
    std::uint64_t detail = 0;  // the literal, parameter or operator
    std::vector<std::uint32_t> operands;
    auto operator<=>(const NodeShape&) const = default;
};

// `numbers`: by expression id, the number that represents it as an operand.
NodeShape shape_of(const Node& node, std::span<const std::uint32_t> numbers);

}  // namespace fact::ir
