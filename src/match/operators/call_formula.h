// A call of a torch operator as a formula: "masked_fill(scores, hides, low)". Names stand for the
// arguments in their order, whichever overload it is; what they must be is the reader's to say.
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
    CallFormula(const char* formula);  // not explicit: tables of them are written as texts

    using Arguments = std::map<std::string, const graph::NamedArgument*, std::less<>>;
    // Nothing where it is another operator, or where a further argument changes what it computes.
    std::optional<Arguments> read(const graph::Node& node) const;

  private:
    std::string operator_;
    std::vector<std::string> names_;
};

}  // namespace fact::match
