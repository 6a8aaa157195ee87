// Values of a kernel whose dimensions are either merged ("G*16") or split into atoms ("G", "16").
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "match/axes/layout.h"

namespace fact::match {

// Every value lists its dimensions in the layout's order. Dimensions are merged, and split only for
// operators that need a part of one; with `always_split` they are split for every operator.
class Forms {
  public:
    Forms(ir::Kernel& kernel, const Layout& layout, bool always_split = false);

    // The kernel's dimension that consists of these atoms.
    ir::DimId dim(const Atoms& atoms);
    std::vector<ir::DimId> dims(const std::vector<Atoms>& order);
    // Dimensions in the layout's order.
    std::vector<ir::DimId> sorted(std::vector<ir::DimId> dims) const;

    // Brings operands of one operator to a common form: split if one of them has only a part of a
    // dimension, else merged. One of them then has all dimensions of the others.
    void align(std::vector<ir::ExprId>& operands);
    auto aligner() {
        return [this](std::vector<ir::ExprId>& operands) { align(operands); };
    }
    // Splits or merges the dimensions of `x` so that each group of axes is a list of dimensions,
    // and returns these lists. Axes that `x` does not have, such as some of extent one, are
    // skipped.
    std::vector<std::vector<ir::DimId>> expose_axes(ir::ExprId& x, const AxisGroups& groups);
    // Whether the dimensions follow one another as the axes do, so that one can count along them.
    bool in_order(const std::vector<ir::DimId>& dims, const std::vector<Axis>& axes) const;
    // The kernel's dimension that consists of this axis alone; nullopt if there is none.
    std::optional<ir::DimId> axis_dim(Axis axis) const;
    // Whether the dimension is one of the layout's atoms.
    bool has_dim(ir::DimId dim) const { return first_atom(dim) < std::ssize(atom_dims_); }
    // `x` with these dimensions in this order.
    ir::ExprId arrange(ir::ExprId x, const std::vector<Atoms>& order);

  private:
    std::vector<int> atoms_of(ir::ExprId x) const;  // ascending
    bool has_partial_dim(ir::ExprId x) const;
    ir::ExprId broadcast(ir::ExprId x, const std::vector<ir::DimId>& dims);
    ir::ExprId split(ir::ExprId x);
    ir::ExprId merge(ir::ExprId x);
    int first_atom(ir::DimId dim) const;
    // The dimensions as atoms, which may be factored themselves, such as places of several phases.
    std::vector<ir::DimId> atoms_in(const std::vector<ir::DimId>& dims) const;

    ir::Kernel& kernel_;
    ir::Builder build_;
    const Layout& layout_;
    bool always_split_;
    std::vector<ir::DimId> atom_dims_;
    std::vector<Atoms> composites_;  // dimensions of several atoms
};

}  // namespace fact::match
