// Where a region without a product starts.
#pragma once

#include <optional>
#include <string>

#include "match/axes/anchor.h"

namespace fact::match {

// The start of a region of the rule at a value that all its operators are computed from; nullopt if
// a kernel cannot read the value.
std::optional<Anchor> start_at(const graph::Graph& graph, graph::ValueId root, std::string rule);

}  // namespace fact::match
