#include "graph/identity.h"

#include <algorithm>
#include <array>

#include "graph/operators.h"

namespace fact::graph {

namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 3> kCopies{"clone", "lift_fresh_copy", "_to_copy"};
constexpr std::array<std::string_view, 2> kAliases{"alias", "detach"};
constexpr std::array<std::string_view, 5> kDropouts{"dropout", "native_dropout", "feature_dropout",
                                                    "alpha_dropout", "feature_alpha_dropout"};

// The same elements at the same addresses; a stride along a single element does not matter.
bool same_layout(const TensorType& a, const TensorType& b) {
    if (a.dynamic || b.dynamic) return false;
    if (a.dtype != b.dtype || a.sizes != b.sizes || a.offset != b.offset || a.device != b.device)
        return false;
    for (std::size_t i = 0; i < a.sizes.size(); ++i)
        if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return false;
    return true;
}

bool is_inert_dropout(const Node& node) {
    if (const Argument* train = find_argument(node, "train"))
        if (const bool* on = std::get_if<bool>(train); on != nullptr && !*on) return true;
    const Argument* p = find_argument(node, "p");
    if (p == nullptr) return false;
    if (const double* value = std::get_if<double>(p)) return *value == 0;
    const auto* value = std::get_if<std::int64_t>(p);
    return value != nullptr && *value == 0;
}

bool is_identity_permute(const Node& node) {
    const Argument* dims = find_argument(node, "dims");
    const auto* order = dims == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(dims);
    if (order == nullptr) return false;
    for (std::size_t i = 0; i < order->size(); ++i)
        if ((*order)[i] != static_cast<std::int64_t>(i)) return false;
    return true;
}

bool asks_for_copy(const Node& node) {
    const Argument* copy = find_argument(node, "copy");
    const bool* on = copy == nullptr ? nullptr : std::get_if<bool>(copy);
    return on != nullptr && *on;
}

}  // namespace

std::string_view aten_name(std::string_view target) {
    constexpr std::string_view kPrefix = "aten.";
    if (!target.starts_with(kPrefix)) return {};
    target.remove_prefix(kPrefix.size());
    return target.substr(0, target.find('.'));
}

bool is_view(const Node& node) {
    // A dropout without effect returns its argument itself.
    return facts_of(node).kind == OperatorKind::view || contains(kDropouts, aten_name(node.target));
}

bool is_inert_check(const Node& node) {
    const std::string_view name = aten_name(node.target);
    return name == "_assert_tensor_metadata" || name == "_assert_scalar" ||
           name.starts_with("sym_constrain_range");
}

bool broadcasts_nothing(const Graph& graph, const Node& node) {
    if (aten_name(node.target) != "broadcast_tensors") return false;
    const auto sources = tensor_inputs(node);
    return sources.size() == node.outputs.size() &&
           std::equal(sources.begin(), sources.end(), node.outputs.begin(),
                      [&](ValueId before, ValueId after) {
                          const auto &from = graph[before].type, &to = graph[after].type;
                          return from && to && same_layout(*from, *to);
                      });
}

std::optional<Identity> identity_of(const Graph& graph, const Node& node) {
    if (node.outputs.empty() || node.returns_list) return std::nullopt;
    const std::string_view name = aten_name(node.target);
    if (node.inputs.empty() || !std::holds_alternative<ValueId>(node.inputs[0].value))
        return std::nullopt;
    const ValueId source = std::get<ValueId>(node.inputs[0].value);
    if (contains(kAliases, name)) return Identity{source};
    if (contains(kDropouts, name) && is_inert_dropout(node)) return Identity{source};
    if (name == "permute" && is_identity_permute(node)) return Identity{source};

    const auto& before = graph[source].type;
    const auto& after = graph[node.outputs[0]].type;
    if (!before || !after || !same_layout(*before, *after)) return std::nullopt;
    if (contains(kCopies, name)) return Identity{source, true};
    if (facts_of(node).kind == OperatorKind::view)
        return Identity{source, name == "to" && asks_for_copy(node)};
    return std::nullopt;
}

}  // namespace fact::graph
