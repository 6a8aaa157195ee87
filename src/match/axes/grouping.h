// Which axes of a region become one dimension of its kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/axes/space.h"

namespace fact::match {

// A tensor of a region: a graph value and the axes its dimensions run over.
struct PlacedTensor {
    graph::ValueId value{};
    Shape shape;
    std::optional<graph::Half> half = {};  // the only part that the region reads, if not all
    bool operator==(const PlacedTensor&) const = default;
};

using Group = std::vector<Axis>;  // axes merged into one dimension, outermost first

enum class Role { batch, m, n, k, other };  // other: in neither operand

// One dimension of a tensor as the kernel reads or writes it.
struct TensorDim {
    int at = 0;  // its number in the graph's tensor
    std::int64_t extent = 1, stride = 0;
    Group axes;
};

constexpr std::size_t kFirstResult = 2;  // the place of the first result among Grouping::tensors()

class Grouping {
  public:
    // `tensors` are the operands a and b, then the results, then the side operands.
    Grouping(const graph::Graph& graph, const Space& space, Axis k,
             std::vector<PlacedTensor> tensors);

    // Merges axes that share a dimension of some tensor, then any others, where the strides of
    // every tensor allow it. Returns "", or why axes that share a dimension cannot be merged.
    std::string merge();
    void swap_operands();  // to compute the transposed product

    std::vector<Group>& groups() { return groups_; }
    const std::vector<PlacedTensor>& tensors() const { return tensors_; }
    Role role(Axis axis) const;
    bool lacks(std::size_t operand, const Group& group) const {
        return !in_operand(operand, group.front());
    }
    std::int64_t extent(const Group& group) const;
    // The axis that varies fastest in a tensor's memory; kNoAxis if the tensor has no axes.
    Axis innermost(std::size_t tensor) const;
    // The dimensions of a tensor that make up a group, outermost first: an empty list if the tensor
    // does not have the group, nullopt if these dimensions contain other axes too, are in another
    // order or cannot be addressed with one stride.
    std::optional<std::vector<TensorDim>> dims_of(std::size_t tensor, const Group& group) const;

  private:
    bool in_operand(std::size_t operand, Axis axis) const;
    // Drops axes of one element, except one each for rows, columns and the sum if they have no
    // other.
    void keep_axes();
    std::vector<TensorDim> tensor_dims(const PlacedTensor& tensor) const;
    // Makes `inner` follow `outer` in one group; false if that is impossible.
    bool join(Axis outer, Axis inner);
    // Appends `second` to `first` and removes it from the list of groups.
    void append(Group& first, Group& second);
    bool can_merge(const Group& outer, const Group& inner) const;
    bool are_separate(const Group& outer, const Group& inner) const;

    const graph::Graph& graph_;
    const Space& space_;
    Axis k_;
    std::vector<PlacedTensor> tensors_;
    std::vector<std::vector<TensorDim>> dims_;  // of each tensor
    Group kept_;                                // see keep_axes()
    std::vector<Group> groups_;
};

bool holds(const Group& group, Axis axis);

}  // namespace fact::match
