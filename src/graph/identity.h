// Operators that return a tensor unchanged.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace fact::graph {

// The first output of a node equals `source`, element for element and stride for stride.
struct Identity {
    ValueId source;
    bool copies = false;  // the output has storage of its own
};

std::optional<Identity> identity_of(const Graph& graph, const Node& node);

// Whether the outputs may share storage with the first tensor the node reads.
bool is_view(const Node& node);
// Whether the node only checks what tracing has already established.
bool is_inert_check(const Node& node);

// "clone" of "aten.clone.default"; "" for operators that are not torch's own.
std::string_view aten_name(std::string_view target);

// Whether the node is a broadcast_tensors whose results are its arguments, one by one.
bool broadcasts_nothing(const Graph& graph, const Node& node);

}  // namespace fact::graph
