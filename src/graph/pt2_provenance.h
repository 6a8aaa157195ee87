// Where a node comes from, according to the free text that torch records.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fact::graph {

// `stack_trace`: Python traceback text; the innermost frame outside of torch is the user's line.
// `module_stack`: "key,path,type" of every enclosing module, outermost first, joined by ";".
Provenance read_provenance(std::string_view stack_trace, std::string_view module_stack);

}  // namespace fact::graph
