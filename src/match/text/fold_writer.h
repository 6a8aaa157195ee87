// Writes a folded norm (match/regions/fold.h): the weight that includes the gain, and the terms
// that turn sums of plain rows into sums of normalised rows.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/kernel.h"
#include "match/regions/fold.h"

namespace fact::match {

class FoldWriter {
  public:
    // `x` are the rows before the norm, as an expression of `kernel`, and `k` is the dimension
    // along a row; `vectors` are the expressions of Fold::vectors, with the same keys.
    FoldWriter(ir::Kernel& kernel, const Fold& fold, ir::ExprId x, ir::DimId k,
               std::map<std::uint32_t, ir::ExprId> vectors);

    // The weight times the gain, by which the plain rows are multiplied.
    ir::ExprId with_gain(ir::ExprId weight);
    // The sums of normalised rows, computed from those of plain rows.
    ir::ExprId normalised(ir::ExprId sums, ir::ExprId weight);

  private:
    ir::ExprId copy(ir::ExprId vector);
    ir::ExprId copy(const ir::Expr& expr, const std::vector<ir::ExprId>& copies);
    ir::ExprId mean(ir::ExprId rows);
    ir::ExprId named(ir::ExprId expr, std::string name);
    void write_statistics();

    ir::Kernel& kernel_;
    ir::Builder build_;
    const Fold& fold_;
    ir::ExprId x_;
    ir::DimId k_;
    std::map<std::uint32_t, ir::ExprId> vectors_;
    std::map<ir::ExprId, ir::ExprId> with_gain_;  // by weight
    std::optional<ir::ExprId> mean_, inverse_;    // of the rows; 1 / standard deviation
};

}  // namespace fact::match
