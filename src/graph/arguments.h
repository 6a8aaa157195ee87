// A node's arguments by name, as the types that the caller expects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// nullopt if the argument was left out or has another type.
std::optional<ValueId> tensor_argument(const Node& node, std::string_view name);
std::optional<std::int64_t> int_argument(const Node& node, std::string_view name);
std::optional<double> number_argument(const Node& node, std::string_view name);  // integers too
std::optional<double> as_number(const Argument& argument);                       // integers too
// A list of integers, or a single one as a list; empty if there is none.
std::vector<std::int64_t> ints_argument(const Node& node, std::string_view name);
// The argument "dim", or torch's own choice if that was left out and is not all dimensions.
std::vector<std::int64_t> dims_argument(const Node& node);
// `otherwise` if the argument was left out or is not a flag.
bool flag_argument(const Node& node, std::string_view name, bool otherwise);

// The equation "bij,jk->bik" of an einsum whose dimensions are single letters.
struct Einsum {
    std::vector<std::string> inputs;  // "bij", "jk"
    std::string result;               // "bik"
};
// Without "->" the result has the indices that occur once, by name. nullopt for other operators,
// and for equations with an ellipsis.
std::optional<Einsum> read_einsum(const Node& node);

}  // namespace fact::graph
