// Which integers are valid for an input of a call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fact::verify {

struct IntegerUse {
    // The input is only compared, converted or calculated with, and is not used as an index, a
    // count or a size.
    bool any_value = false;
    bool becomes_floating = false;       // so its magnitude affects the results
    std::vector<std::int64_t> compared;  // the numbers it is compared with
    // It has the numbers of classes: below this, or `ignored`.
    std::optional<std::int64_t> classes = {}, ignored = {};
};

// How the integers of `input` are used, following views and copies.
IntegerUse integer_use(const graph::Graph& graph, graph::ValueId input);

}  // namespace fact::verify
