// Which integers an input of a call can be given.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fact::verify {

struct IntegerUse {
    // Nothing is looked up, counted or shaped by it: it is compared, converted or calculated with.
    bool any_value = false;
    bool becomes_floating = false;       // so that its size shows in the results
    std::vector<std::int64_t> compared;  // the numbers it is compared with
};

// What becomes of the integers of `input`, through views and copies of them.
IntegerUse integer_use(const graph::Graph& graph, graph::ValueId input);

}  // namespace fact::verify
