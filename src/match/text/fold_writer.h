// A folded norm as a kernel says it: the weight its product takes, and what becomes of the sums.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/kernel.h"
#include "match/regions/fold.h"

namespace fact::match {

class FoldWriter {
  public:
    // `x` are the rows in the kernel, `k` their dimension, `vectors` what the parameters of
    // Fold::vectors are there.
    FoldWriter(ir::Kernel& kernel, const Fold& fold, ir::ExprId x, ir::DimId k,
               std::map<std::uint32_t, ir::ExprId> vectors);

    // The weight that the rows are multiplied with in place of `weight`.
    ir::ExprId scaled(ir::ExprId weight);
    // The sums as they are for normalised rows.
    ir::ExprId normal(ir::ExprId sums, ir::ExprId weight);

  private:
    ir::ExprId copied(ir::ExprId vector);
    ir::ExprId copied(const ir::Expr& expr, const std::vector<ir::ExprId>& copies);
    ir::ExprId mean(ir::ExprId rows);
    ir::ExprId named(ir::ExprId expr, std::string name);
    void write_statistics();

    ir::Kernel& kernel_;
    ir::Builder build_;
    const Fold& fold_;
    ir::ExprId x_;
    ir::DimId k_;
    std::map<std::uint32_t, ir::ExprId> vectors_;
    std::map<ir::ExprId, ir::ExprId> scaled_;   // by weight
    std::optional<ir::ExprId> mean_, inverse_;  // of the rows; one over the deviation
};

}  // namespace fact::match
