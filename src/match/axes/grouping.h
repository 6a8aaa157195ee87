// Which axes of a region become one dimension of its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/axes/space.h"

namespace fact::match {

// A tensor of the region: a graph value and the axes its dimensions run over.
struct Placed {
    graph::ValueId value{};
    Shape shape;
    std::optional<graph::Half> half = {};  // all that the region sees of it
    bool operator==(const Placed&) const = default;
};

using Group = std::vector<Axis>;  // merged, outer first

enum class Role { batch, m, n, k, other };  // other: in neither operand

// One dimension of a tensor that the kernel sees.
struct SeenDim {
    int at = 0;  // in the graph's tensor
    std::int64_t extent = 1, stride = 0;
    Group axes;
};

constexpr std::size_t kFirstResult = 2;  // among a grouping's tensors: behind the operands

class Grouping {
  public:
    // Tensors: the operands a and b, then the results, then what else is read.
    Grouping(const graph::Graph& graph, const Space& space, Axis k, std::vector<Placed> tensors);

    // Puts axes together that share a dimension of some tensor, and then whatever all tensors let
    // merge. Returns why the first cannot be, or "".
    std::string merge();
    void swap_operands();

    std::vector<Group>& groups() { return groups_; }
    const std::vector<Placed>& tensors() const { return tensors_; }
    Role role(Axis axis) const;
    bool lacks(std::size_t operand, const Group& group) const {
        return !in_operand(operand, group.front());
    }
    std::int64_t extent(const Group& group) const;
    // The axis that varies fastest in a tensor's memory; -1 where it has none.
    Axis innermost(std::size_t tensor) const;
    // A tensor's dimensions of a group, outer first; nullopt unless they are whole, in the group's
    // order and evenly spaced.
    std::optional<std::vector<SeenDim>> dims_of(std::size_t tensor, const Group& group) const;

  private:
    bool in_operand(std::size_t operand, Axis axis) const;
    void keep_axes();
    std::vector<SeenDim> seen_dims(const Placed& tensor) const;
    bool join(Axis outer, Axis inner);
    void append(Group& first, Group& second);
    bool can_merge(const Group& outer, const Group& inner) const;

    const graph::Graph& graph_;
    const Space& space_;
    Axis k_;
    std::vector<Placed> tensors_;
    std::vector<std::vector<SeenDim>> dims_;  // of each tensor
    Group kept_;
    std::vector<Group> groups_;
};

bool holds(const Group& group, Axis axis);

}  // namespace fact::match
