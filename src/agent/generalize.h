// A text written for one module's extents, for other extents.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"

namespace fact::agent {

// Numbers that stand for extents become symbols, and a symbol that the operators fix (a group
// norm's number of groups, in `G*8`) becomes that number, so that `G*8` of 32 groups is `32*P`.
// `extents` are those of the text's symbols here. Each step is kept where `fits` says that the text
// still computes the operators here; the first text fits.
std::string generalized(std::string text, const graph::Graph& operators,
                        const std::map<std::string, std::int64_t>& extents,
                        const std::function<bool(const std::string&)>& fits);

}  // namespace fact::agent
