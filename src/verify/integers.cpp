#include "verify/integers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/arguments.h"
#include "graph/operators.h"

namespace fact::verify {

namespace {

using graph::Node;
using graph::ValueId;

constexpr std::array<std::string_view, 6> kComparisons{"aten.eq.", "aten.ne.", "aten.lt.",
                                                       "aten.le.", "aten.gt.", "aten.ge."};

// Operators that compute element by element. Any other, unless it only moves elements, may use the
// integers as positions or lengths.
constexpr std::array<std::string_view, 15> kElementwise{
    "aten._to_copy.", "aten.to.",      "aten.type_as.", "aten.where.",   "aten.masked_fill.",
    "aten.add.",      "aten.sub.",     "aten.rsub.",    "aten.mul.",     "aten.div.",
    "aten.minimum.",  "aten.maximum.", "aten.clamp.",   "aten.logical_", "aten.flatten."};

constexpr std::int64_t kIgnored = -100;  // torch's default of "ignore_index"

bool listed(const auto& names, const Node& node) {
    return std::ranges::any_of(names, [&](auto name) { return node.target.starts_with(name); });
}

// Whether the value is the target of the node, which is a loss of scores for classes.
bool is_class_target(const graph::Graph& graph, const Node& node, ValueId value) {
    if (graph::facts_of(node).along != graph::Along::classes) return false;
    const auto scores = graph::tensor_argument(node, "self");
    return graph::tensor_argument(node, "target") == value && scores && graph[*scores].type &&
           !graph[*scores].type->sizes.empty();
}

void add_classes(const graph::Graph& graph, const Node& node, IntegerUse& use) {
    const auto& sizes = graph[*graph::tensor_argument(node, "self")].type->sizes;
    const std::int64_t classes = sizes[sizes.size() > 1 ? 1 : 0];
    const auto ignored = graph::int_argument(node, "ignore_index").value_or(kIgnored);
    // What one loss ignores is no class of another one that ignores something else.
    const bool agrees = !use.classes || use.ignored == ignored;
    use.ignored = agrees ? std::optional(ignored) : std::nullopt;
    use.classes = std::min(use.classes.value_or(classes), classes);
}

}  // namespace

IntegerUse integer_use(const graph::Graph& graph, ValueId input) {
    IntegerUse use;  // an early return leaves `any_value` false
    std::vector<ValueId> followed{input};
    for (std::size_t i = 0; i < followed.size(); ++i) {
        for (const auto& output : graph.outputs)
            if (output.value == followed[i]) return use;
        for (const Node& node : graph.nodes) {
            const auto inputs = graph::tensor_inputs(node);
            if (std::ranges::find(inputs, followed[i]) == inputs.end()) continue;
            if (is_class_target(graph, node, followed[i])) {
                add_classes(graph, node, use);
                continue;
            }
            if (listed(kComparisons, node)) {
                if (const auto number = graph::int_argument(node, "other"))
                    use.compared.push_back(*number);
                continue;
            }
            const bool moved = graph::facts_of(node).motion != graph::Motion::none;
            if ((!moved && !listed(kElementwise, node)) || node.outputs.size() != 1) return use;
            const ValueId result = node.outputs.front();
            const auto& type = graph[result].type;
            if (!type) return use;
            if (info(type->dtype).floating)
                use.becomes_floating = true;
            else if (type->dtype != DType::boolean &&
                     std::ranges::find(followed, result) == followed.end())
                followed.push_back(result);
        }
    }
    use.any_value = true;
    return use;
}

}  // namespace fact::verify
