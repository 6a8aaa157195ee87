// Values of a kernel whose dimensions may be whole ("G*16") or taken apart ("G", "16").
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "match/axes/layout.h"

namespace fact::match {

// Every value lists its dimensions in the layout's order. Values are kept whole, and only what
// looks at a part of a dimension takes it apart; or, with `parts`, all are computed taken apart.
class Forms {
  public:
    Forms(ir::Kernel& kernel, const Layout& layout, bool parts = false);

    // The kernel's dimension of these atoms.
    ir::DimId dim(const Atoms& atoms);
    std::vector<ir::DimId> dims(const std::vector<Atoms>& order);
    // Dimensions in the layout's order.
    std::vector<ir::DimId> sorted(std::vector<ir::DimId> dims) const;

    // Brings operands of one operator to a common form: apart where one of them has only a part of
    // a dimension, else whole. One of them then has all dimensions of the others.
    void align(std::vector<ir::ExprId>& operands);
    auto aligner() {
        return [this](std::vector<ir::ExprId>& operands) { align(operands); };
    }
    // `x` so that these axes are dimensions of it, and those dimensions; axes of extent one that
    // the kernel does not have are passed over.
    std::vector<std::vector<ir::DimId>> look_along(ir::ExprId& x, const AxisGroups& groups);
    // `x` with these dimensions in this order.
    ir::ExprId arrange(ir::ExprId x, const std::vector<Atoms>& order);

  private:
    std::vector<int> atoms_of(ir::ExprId x) const;  // ascending
    bool has_parts(ir::ExprId x) const;
    ir::ExprId spread(ir::ExprId x, const std::vector<ir::DimId>& dims);
    ir::ExprId apart(ir::ExprId x);
    ir::ExprId whole(ir::ExprId x);
    int atom(ir::DimId dim) const;

    ir::Kernel& kernel_;
    ir::Builder build_;
    const Layout& layout_;
    bool parts_;
    std::vector<ir::DimId> atom_dims_;
    std::vector<Atoms> composites_;  // dimensions of several atoms
};

}  // namespace fact::match
