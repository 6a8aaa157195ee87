// Which axes of a product's result each tensor of a region runs over.
//
// An axis is a dimension of the product that nothing in the region splits. Every value of the
// region runs over some of the axes, in an order that permutes and views may change: operands that
// are broadcast, and what a reduction leaves, run over fewer. A side operand may add axes of its
// own where the product's have been reduced away.
//
// A half of a value lacks an axis of extent two, and so does what is computed from both halves:
// it is known for each of the two places along the axis, until a join puts one for each together.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/halves.h"
#include "support/result.h"

namespace fact::match {

using Axis = int;
inline constexpr Axis kNoAxis = -1;

// For each dimension of a tensor, the axes it runs over, outer first; none where the tensor is
// broadcast or the dimension's extent is one.
using Shape = std::vector<std::vector<Axis>>;

// A tensor from outside the region, as one argument of one of its nodes.
struct SideUse {
    graph::NodeId node{};
    std::string argument;
    graph::ValueId value{};
    Shape shape;
    std::optional<graph::Half> half = {};  // all that is read of it
};

// Axes that an operator looks along together: what a reduction runs over, what an index counts.
using AxisGroups = std::vector<std::vector<Axis>>;

struct Anchor;

class Space {
  public:
    Axis add_axis(std::int64_t extent);
    Axis num_axes() const { return static_cast<Axis>(extents_.size()); }
    std::int64_t extent(Axis axis) const { return extents_[static_cast<std::size_t>(axis)]; }

    // The product's operands.
    Shape a, b;

    // Makes `value` part of the region; the product's result comes first.
    void place(graph::ValueId value, Shape shape);
    bool contains(graph::ValueId value) const { return shapes_.contains(value); }
    const Shape& shape(graph::ValueId value) const { return shapes_.at(value); }
    const std::vector<SideUse>& sides() const { return sides_; }
    // The axis of which the value is one of two halves, or is computed from them.
    std::optional<Axis> halved(graph::ValueId value) const;
    // Whether some value is a half along the axis, or along any.
    bool is_halved(Axis axis) const;
    bool has_halves() const { return !halves_.empty(); }
    // What each node that looks along axes looks along.
    const std::map<graph::NodeId, AxisGroups>& groups() const { return groups_; }

    // Adds an argument from outside the region.
    void add_side(SideUse side) { sides_.push_back(std::move(side)); }
    // The same, broadcast against `result`.
    void add_side(const graph::Graph& graph, graph::NodeId node, std::string argument,
                  graph::ValueId value, const Shape& result);

    // Takes a node that reads the region into it: a pointwise or rowwise operator, permute, view,
    // clone, what takes halves apart or joins them. Returns why not, or "".
    std::string absorb(const graph::Graph& graph, graph::NodeId node);
    // Takes the pointwise producer of side operands into the region. Returns why not, or "".
    std::string absorb_producer(const graph::Graph& graph, graph::NodeId node);
    // The same for another linear of the product's first operand. Returns why not, or "".
    std::string absorb_second(const graph::Graph& graph, const Anchor& linear);

    // The same elements in the same order as dimensions of these sizes, for which axes may be
    // split.
    Result<Shape> regrouped(const Shape& shape, const std::vector<std::int64_t>& sizes);

  private:
    std::string absorb_pointwise(const graph::Graph& graph, graph::NodeId id);
    std::string absorb_rowwise(const graph::Graph& graph, graph::NodeId id);
    std::string absorb_view(const graph::Graph& graph, const graph::Node& node);
    std::string absorb_halving(const graph::Graph& graph, graph::NodeId id,
                               const graph::Halving& halving);
    std::string absorb_joining(const graph::Graph& graph, graph::NodeId id,
                               const graph::Joining& joining);
    // How all uses of a side operand see it; nothing where they differ or there are none.
    std::optional<Shape> orientation(graph::ValueId side_value) const;
    // Where in the axes of a value's dimension the inner `extent` elements begin.
    std::optional<std::size_t> part(graph::ValueId value, std::size_t dim, std::int64_t extent);
    std::int64_t count(const Shape& shape) const;
    void split(Axis axis, std::int64_t inner);

    std::vector<std::int64_t> extents_;
    std::map<graph::ValueId, Shape> shapes_;
    std::vector<SideUse> sides_;
    std::map<graph::NodeId, AxisGroups> groups_;
    std::map<graph::ValueId, Axis> halves_;
    std::int64_t product_size_ = 0;  // elements of the product's result
};

// The shape of a tensor broadcast against `result`: dimensions match from the right.
Shape broadcast_shape(const graph::TensorType& type, const Shape& result);

}  // namespace fact::match
