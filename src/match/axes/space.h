// Which axes of a product's result each tensor of a region runs over.
//
// An axis is a dimension of the product, or a part of one, that nothing in the region splits. Every
// value of the region runs over some of the axes, in an order that permutes and views may change;
// broadcast operands and results of reductions run over fewer. After a reduction, a side operand
// may add axes that the product does not have.
//
// A half of a value lacks an axis of extent two, and so does everything computed from halves: the
// kernel computes it for both places along that axis, until a join (cat or stack) restores the
// axis.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/halves.h"
#include "graph/windows.h"
#include "support/result.h"

namespace fact::match {

using Axis = int;
inline constexpr Axis kNoAxis = -1;

// For each dimension of a tensor, the axes it runs over, outermost first; none if the tensor is
// broadcast along it or its extent is one.
using Shape = std::vector<std::vector<Axis>>;

// A tensor from outside the region, as an argument of one of the region's nodes.
struct SideUse {
    graph::NodeId node{};
    std::string argument;
    graph::ValueId value{};
    Shape shape;
    std::optional<graph::Half> half = {};  // the only part that is read, if not all
};

// Axes that a row-wise operator treats as one: those a reduction sums over, or those whose position
// an index counts.
using AxisGroups = std::vector<std::vector<Axis>>;

// Windows of a node: the axis it sees through them, which the result does not have, the axis of
// their places and that of their taps, which only weights have.
struct AxisWindow {
    Axis of = kNoAxis, places = kNoAxis, taps = kNoAxis;
    graph::WindowDim rule;
};
struct AxisWindows {
    std::vector<AxisWindow> windows;
    std::vector<Axis> whole;  // axes that one window covers: they are reduced
    // Of a convolution: the axes of its results' channels and of its input's.
    std::vector<Axis> features = {}, channels = {};
    bool transposed = false;
};

struct Anchor;

class Space {
  public:
    Axis add_axis(std::int64_t extent);
    Axis num_axes() const { return static_cast<Axis>(extents_.size()); }
    std::int64_t extent(Axis axis) const { return extents_[static_cast<std::size_t>(axis)]; }

    // The shapes of the product's operands.
    Shape a, b;
    // The only convolution that a region without another product may contain.
    std::optional<graph::NodeId> convolution;

    // Makes `value` part of the region; the product's result must be placed first.
    void place(graph::ValueId value, Shape shape);
    bool contains(graph::ValueId value) const { return shapes_.contains(value); }
    // Says that the value is read from memory, so that the kernel has exactly torch's numbers.
    void mark_exact(graph::ValueId value) { exact_.insert(value); }
    const Shape& shape(graph::ValueId value) const { return shapes_.at(value); }
    const std::vector<SideUse>& sides() const { return sides_; }
    // The axis along which the value is one of two halves, or is computed from halves.
    std::optional<Axis> halved(graph::ValueId value) const;
    // Whether some value is a half along this axis.
    bool is_halved(Axis axis) const;
    // Whether some value is a half along any axis.
    bool has_halves() const { return !halves_.empty(); }
    // The axes that each row-wise, halving or joining node works along.
    const std::map<graph::NodeId, AxisGroups>& groups() const { return groups_; }

    // How nodes see values through windows.
    const std::map<graph::NodeId, AxisWindows>& windows() const { return windows_; }
    // Whether windows go over the axis, or are numbered by it: then it must stay whole.
    bool is_windowed(Axis axis) const;

    // Adds an argument from outside the region.
    void add_side(SideUse side) { sides_.push_back(std::move(side)); }
    // The same for an argument that is broadcast against `result`.
    void add_side(const graph::Graph& graph, graph::NodeId node, std::string argument,
                  graph::ValueId value, const Shape& result);

    // Adds a node that reads the region: a pointwise or row-wise operator, permute, view, clone, or
    // an operator that works on windows, or takes or joins halves. Returns why that is impossible,
    // or "".
    std::string absorb(const graph::Graph& graph, graph::NodeId node);
    // The same for the pointwise producer of a side operand.
    std::string absorb_producer(const graph::Graph& graph, graph::NodeId node);
    // The same for a second linear that reads the product's first operand.
    std::string absorb_second_linear(const graph::Graph& graph, const Anchor& linear);

    // The shape of a view with these sizes. Splits axes if necessary.
    Result<Shape> regrouped(const Shape& shape, const std::vector<std::int64_t>& sizes);

  private:
    std::string absorb_pointwise(const graph::Graph& graph, graph::NodeId id);
    std::string absorb_rowwise(const graph::Graph& graph, graph::NodeId id);
    std::string absorb_windows(const graph::Graph& graph, graph::NodeId id);
    std::string absorb_view(const graph::Graph& graph, const graph::Node& node);
    std::string absorb_halving(const graph::Graph& graph, graph::NodeId id,
                               const graph::Halving& halving);
    std::string absorb_joining(const graph::Graph& graph, graph::NodeId id,
                               const graph::Joining& joining);
    // The shape in which all uses read a side operand; nullopt if they differ or there are none.
    std::optional<Shape> orientation(graph::ValueId side_value) const;
    // Where the axes that make up the inner `extent` elements of a dimension begin in the list of
    // its axes; nullopt if no axes do. Splits an axis if necessary.
    std::optional<std::size_t> begin_of_part(graph::ValueId value, std::size_t dim,
                                             std::int64_t extent);
    std::int64_t num_elements(const Shape& shape) const;
    // Makes the inner `inner` elements of an axis a new axis, in all shapes.
    void split(Axis axis, std::int64_t inner);

    std::vector<std::int64_t> extents_;
    std::map<graph::ValueId, Shape> shapes_;
    std::vector<SideUse> sides_;
    std::map<graph::NodeId, AxisGroups> groups_;
    std::map<graph::NodeId, AxisWindows> windows_;
    std::map<graph::ValueId, Axis> halves_;  // the axis that each half lacks
    std::set<graph::ValueId> exact_;         // from mark_exact(), and views and copies of those
    std::int64_t product_size_ = 0;  // elements of the product's result, or of the first value
};

// The shape of a tensor broadcast against `result`: dimensions match from the right.
Shape broadcast_shape(const graph::TensorType& type, const Shape& result);

}  // namespace fact::match
