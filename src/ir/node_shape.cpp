#include "ir/node_shape.h"

#include <bit>

namespace fact::ir {

NodeShape shape_of(const Node& node, std::span<const std::uint32_t> numbers) {
    NodeShape shape{node.index(), 0, {}};
    for_each_operand(node, [&](ExprId id) { shape.operands.push_back(numbers[index(id)]); });
    if (const auto* literal = std::get_if<Literal>(&node))
        shape.detail = std::bit_cast<std::uint64_t>(literal->value);
    if (const auto* param = std::get_if<Param>(&node)) shape.detail = param->index;
    if (const auto* unary = std::get_if<Unary>(&node))
        shape.detail = static_cast<std::uint64_t>(unary->op);
    if (const auto* binary = std::get_if<Binary>(&node))
        shape.detail = static_cast<std::uint64_t>(binary->op);
    return shape;
}

}  // namespace fact::ir
