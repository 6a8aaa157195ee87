// A linear whose result is cut in two, as packed gates are: two products of one matrix with the
// halves of one weight.
#pragma once

#include <optional>

#include "match/axes/anchor.h"
#include "match/regions/region.h"

namespace fact::match {

// The linear as two: its result is that of the first half, the second half's weight and the halves
// of a bias are side operands. With aten.glu, which cuts and gates at once, the result is the gated
// one. Nothing where somebody reads the whole, where other parts are read than halves of its
// columns, or only one of the two.
std::optional<Anchor> read_packed(const graph::Graph& graph, const Facts& facts,
                                  const Anchor& linear);

}  // namespace fact::match
