// Makes a text that was written for one module's extents work for others.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/graph.h"

namespace fact::agent {

// Literals that are extents become symbols, and a symbol whose value the operators fix becomes that
// value: with a group norm of 32 groups, `G*8` becomes `32*P`. `extents` are those of the text's
// symbols in the module it was written for. A step is undone unless `fits` says that the text still
// computes the operators in that module; the original text fits.
std::string generalize(std::string text, const graph::Graph& operators,
                       const std::map<std::string, std::int64_t>& extents,
                       const std::function<bool(const std::string&)>& fits);

}  // namespace fact::agent
