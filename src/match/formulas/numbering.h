// Expressions of a kernel that compute the same, found by numbering them: each is looked at once.
#pragma once

#include <map>
#include <vector>

#include "ir/kernel.h"
#include "ir/node_shape.h"

namespace fact::match {

// What expressions may differ in and still count as the same.
enum class Apart {
    order,     // of what is added or multiplied
    rounding,  // casts between floating types, and the order of dimensions
};

class Numbering {
  public:
    // Expressions may be added to the kernel meanwhile.
    Numbering(const ir::Kernel& kernel, Apart apart) : kernel_(kernel), apart_(apart) {}

    // The first expression that is the same.
    ir::ExprId first(ir::ExprId id);
    bool same(ir::ExprId a, ir::ExprId b) { return first(a) == first(b); }
    // The node of that one, with operands that are the first of their kind.
    template <class Node>
    const Node* as(ir::ExprId id) {
        return std::get_if<Node>(&nodes_[ir::index(first(id))]);
    }

  private:
    void add_next();
    bool says_nothing(const ir::Node& node, ir::ExprId& behind) const;

    const ir::Kernel& kernel_;
    Apart apart_;
    std::vector<std::uint32_t> first_;
    std::vector<ir::Node> nodes_;
    std::map<ir::NodeShape, std::vector<std::uint32_t>> known_;  // the first ones
};

}  // namespace fact::match
