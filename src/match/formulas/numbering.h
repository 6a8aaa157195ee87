// Value numbering: finds the expressions of a kernel that compute the same value, visiting each one
// once.
#pragma once

#include <map>
#include <vector>

#include "ir/kernel.h"
#include "ir/node_shape.h"

namespace fact::match {

// The differences between expressions that are ignored.
enum class Ignored {
    order,     // of the operands of sums and products
    rounding,  // casts between floating types, and the order of dimensions
};

class Numbering {
  public:
    // Expressions may be added to the kernel afterwards.
    Numbering(const ir::Kernel& kernel, Ignored ignored) : kernel_(kernel), ignored_(ignored) {}

    // The first expression that computes the same value.
    ir::ExprId representative(ir::ExprId id);
    bool same(ir::ExprId a, ir::ExprId b) { return representative(a) == representative(b); }
    // The representative's node, whose operands are representatives too; nullptr if it is of
    // another kind.
    template <class Node>
    const Node* as(ir::ExprId id) {
        return std::get_if<Node>(&nodes_[ir::index(representative(id))]);
    }

  private:
    void add_next();
    // Whether the node is a cast or permute that is ignored; then `source` is its operand.
    bool is_ignored(const ir::Node& node, ir::ExprId& source) const;

    const ir::Kernel& kernel_;
    Ignored ignored_;
    std::vector<std::uint32_t> representatives_;  // by expression
    std::vector<ir::Node> nodes_;                 // by expression, with representatives as operands
    // By shape: expressions that differ from all before them.
    std::map<ir::NodeShape, std::vector<std::uint32_t>> distinct_;
};

}  // namespace fact::match
