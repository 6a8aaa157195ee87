// A call of a torch operator as a formula: "masked_fill(scores, hides, low)". It names the first
// arguments of any overload of the operator; the caller checks what they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fact::match {

class CallFormula {
  public:
    CallFormula(const char* formula);  // not explicit, so that tables can list string literals

    using Arguments = std::map<std::string, const graph::NamedArgument*, std::less<>>;
    // nullopt if the node is another operator, or if it has a further argument with an effect.
    std::optional<Arguments> read(const graph::Node& node) const;

  private:
    std::string operator_;
    std::vector<std::string> names_;
};

}  // namespace fact::match
