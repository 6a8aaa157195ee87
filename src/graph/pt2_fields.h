// The parts of torch.export's JSON schema that the program and the weights share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "graph/graph.h"
#include "graph/references.h"

namespace fact::graph {

// The only member of a union object: its tag and its value.
std::pair<std::string, const nlohmann::json&> read_union(const nlohmann::json& value);

std::string read_device(const nlohmann::json& device);

// A TensorMeta; nullopt for an element type or layout this project does not know. Throws
// SchemaError for extents that are negative or whose bytes overflow.
std::optional<TensorType> read_tensor_type(const nlohmann::json& meta);

// Throws SchemaError if an extent is negative, if there are not as many extents as strides, or if
// the size in bytes overflows: later code multiplies extents without checking.
void check_type(const TensorType& type);

// An argument of a node. One that cannot be interpreted becomes an OpaqueArg.
Argument read_argument(const nlohmann::json& argument, const ValueNames& names);

}  // namespace fact::graph
