#include "match/operators/call_formula.h"

#include <algorithm>

#include "graph/identity.h"
#include "support/result.h"

namespace fact::match {

namespace {

// Whether an argument after the named ones may be ignored. The operators in formulas have no others
// there than `alpha`, which is 1 by default, and options that are None by default.
bool has_no_effect(const graph::Argument& argument) {
    const auto* integer = std::get_if<std::int64_t>(&argument);
    const auto* real = std::get_if<double>(&argument);
    return std::holds_alternative<graph::None>(argument) || (integer && *integer == 1) ||
           (real && *real == 1);
}

}  // namespace

CallFormula::CallFormula(const char* formula) {
    const std::string_view text = formula;
    const std::size_t open = text.find('('), close = text.find(')');
    if (open == text.npos || close != text.size() - 1)
        throw InternalError("the formula of a call must have the form name(argument, ...)");
    operator_ = text.substr(0, open);
    for (std::string_view rest = text.substr(open + 1, close - open - 1); !rest.empty();) {
        const std::size_t comma = std::min(rest.find(", "), rest.size());
        names_.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
}

std::optional<CallFormula::Arguments> CallFormula::read(const graph::Node& node) const {
    if (graph::aten_name(node.target) != operator_ || node.inputs.size() < names_.size())
        return std::nullopt;
    Arguments found;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (i < names_.size())
            found[names_[i]] = &node.inputs[i];
        else if (!has_no_effect(node.inputs[i].value))
            return std::nullopt;
    }
    return found;
}

}  // namespace fact::match
