// The program record of a .pt2 archive: torch.export's JSON, schema 8.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::graph {

Result<Graph> decode_program(std::string_view text);

}  // namespace fact::graph
