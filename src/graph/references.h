// The one place that knows where arguments refer to values.
#pragma once

#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// Calls `visit` with every ValueId in the argument; with a mutable argument, by reference.
template <class Arg, class Visit>
    requires std::is_same_v<std::remove_const_t<Arg>, Argument>
void for_each_value(Arg& argument, Visit visit) {
    if (auto* one = std::get_if<ValueId>(&argument)) {
        visit(*one);
    } else if (auto* many = std::get_if<std::vector<ValueId>>(&argument)) {
        for (auto& id : *many) visit(id);
    } else if (auto* some = std::get_if<std::vector<std::optional<ValueId>>>(&argument)) {
        for (auto& id : *some)
            if (id) visit(*id);
    }
}

using ValueNames = std::unordered_map<std::string, ValueId>;

// Throws SchemaError when no value has the name.
ValueId find_value(const ValueNames& names, const std::string& name);

// Names of a graph's values, for arguments that are carried as JSON and refer to values by name.
class NameIndex {
  public:
    explicit NameIndex(const Graph& graph);
    // Values an OpaqueArg mentions (any string in it that is a value's name); none for other kinds.
    std::vector<ValueId> opaque_references(const Argument& argument) const;

  private:
    ValueNames ids_;
};

}  // namespace fact::graph
