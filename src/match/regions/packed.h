// A linear whose result is cut into two halves, as gates with one packed weight are: it becomes two
// products of one matrix with the halves of the weight.
#pragma once

#include <optional>

#include "match/axes/anchor.h"
#include "match/regions/region.h"

namespace fact::match {

// The linear as two products. Anchor::result is that of the first half; the weight of the second
// half and the halves of a bias are side operands. If aten.glu, which cuts and gates at once,
// follows, the result is the gated one. nullopt if a node reads the whole result or a part that is
// not half of its columns, if only one half is used, or if the elements are f32.
std::optional<Anchor> read_packed(const graph::Graph& graph, const Facts& facts,
                                  const Anchor& linear);

}  // namespace fact::match
