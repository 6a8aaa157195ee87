#include "graph/einsum_equation.h"

#include <algorithm>

namespace fact::graph {

std::optional<Extents> index_extents(const Graph& graph, const Einsum& equation,
                                     const std::vector<ValueId>& values) {
    Extents extents;
    if (equation.inputs.size() != values.size()) return std::nullopt;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& type = graph[values[i]].type;
        const std::string& letters = equation.inputs[i];
        if (!type || type->dynamic || !info(type->dtype).floating ||
            type->dtype != graph[values[0]].type->dtype || letters.size() != type->sizes.size())
            return std::nullopt;
        for (std::size_t dim = 0; dim < letters.size(); ++dim) {
            const auto size = type->sizes[dim];
            const auto known = extents.emplace(letters[dim], size).first;
            if (letters.find(letters[dim]) != dim || size == 0 || known->second != size)
                return std::nullopt;
        }
    }
    for (std::size_t i = 0; i < equation.result.size(); ++i)
        if (!extents.contains(equation.result[i]) || equation.result.find(equation.result[i]) != i)
            return std::nullopt;
    return extents;
}

std::optional<Contractions> contractions(const Node& node, std::size_t operands) {
    const auto given = ints_argument(node, "path");
    Contractions path;
    if (given.empty()) {
        path.resize(operands - 1, {0, 1});
        return path;
    }
    if (given.size() != 2 * (operands - 1)) return std::nullopt;
    for (std::size_t i = 0; i < given.size(); i += 2, --operands) {
        const auto low = std::min(given[i], given[i + 1]), high = std::max(given[i], given[i + 1]);
        if (low < 0 || low == high || high >= static_cast<std::int64_t>(operands))
            return std::nullopt;
        path.emplace_back(low, high);
    }
    return path;
}

}  // namespace fact::graph
