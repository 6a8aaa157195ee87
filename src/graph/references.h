// References from arguments to values.
#pragma once

#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::graph {

// Calls `visit` with every ValueId in the argument; with a mutable argument, by reference.
template <class Arg, class Visit>
    requires std::is_same_v<std::remove_const_t<Arg>, Argument>
void for_each_value(Arg& argument, Visit visit) {
    std::visit(
        overloaded{
            [&](one_of<ValueId> auto& id) { visit(id); },
            [&](one_of<std::vector<ValueId>> auto& ids) {
                for (auto& id : ids) visit(id);
            },
            [&](one_of<std::vector<std::optional<ValueId>>> auto& ids) {
                for (auto& id : ids)
                    if (id) visit(*id);
            },
            [](one_of<None, bool, std::int64_t, double, std::string, std::vector<bool>,
                      std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>,
                      DTypeArg, MemoryFormatArg, LayoutArg, DeviceArg, OpaqueArg> auto&) {},
        },
        argument);
}

using ValueNames = std::unordered_map<std::string, ValueId>;

// Throws SchemaError if no value has the name.
ValueId find_value(const ValueNames& names, const std::string& name);

// The names of a graph's values, for opaque arguments, which are JSON and refer to values by name.
class NameIndex {
  public:
    explicit NameIndex(const Graph& graph);
    // Values an OpaqueArg mentions (any string in it that is a value's name); none for other kinds.
    std::vector<ValueId> opaque_references(const Argument& argument) const;

  private:
    ValueNames ids_;
};

}  // namespace fact::graph
