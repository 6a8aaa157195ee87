#include "graph/arguments.h"

#include <algorithm>
#include <cctype>

namespace fact::graph {

namespace {

template <class T>
const T* argument_as(const Node& node, std::string_view name) {
    const Argument* argument = find_argument(node, name);
    return argument ? std::get_if<T>(argument) : nullptr;
}

}  // namespace

std::optional<ValueId> tensor_argument(const Node& node, std::string_view name) {
    const auto* value = argument_as<ValueId>(node, name);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> int_argument(const Node& node, std::string_view name) {
    const auto* value = argument_as<std::int64_t>(node, name);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> number_argument(const Node& node, std::string_view name) {
    const Argument* argument = find_argument(node, name);
    return argument ? as_number(*argument) : std::nullopt;
}

std::optional<double> as_number(const Argument& argument) {
    if (const auto* integer = std::get_if<std::int64_t>(&argument))
        return static_cast<double>(*integer);
    const auto* real = std::get_if<double>(&argument);
    return real ? std::optional(*real) : std::nullopt;
}

std::vector<std::int64_t> ints_argument(const Node& node, std::string_view name) {
    if (const auto* list = argument_as<std::vector<std::int64_t>>(node, name)) return *list;
    if (const auto one = int_argument(node, name)) return {*one};
    return {};
}

std::vector<std::int64_t> dims_argument(const Node& node) {
    auto dims = ints_argument(node, node.target == "aten.flip.default" ? "dims" : "dim");
    if (dims.empty() && node.target == "aten.cosine_similarity.default") dims = {1};
    return dims;
}

bool flag_argument(const Node& node, std::string_view name, bool otherwise) {
    const auto* value = argument_as<bool>(node, name);
    return value ? *value : otherwise;
}

std::optional<Einsum> read_einsum(const Node& node) {
    const auto* text = argument_as<std::string>(node, "equation");
    if (node.target != "aten.einsum.default" || !text) return std::nullopt;
    std::string equation = *text;
    std::erase(equation, ' ');
    const auto arrow = std::min(equation.find("->"), equation.size());
    Einsum read{{""}, equation.substr(std::min(arrow + 2, equation.size()))};
    if (arrow == equation.size())
        for (char c = 'A'; c <= 'z'; ++c)
            if (std::ranges::count(equation, c) == 1) read.result += c;
    for (const char c : equation.substr(0, arrow)) {
        if (c == ',')
            read.inputs.emplace_back();
        else if (std::isalpha(static_cast<unsigned char>(c)))
            read.inputs.back() += c;
        else
            return std::nullopt;
    }
    for (const char c : read.result)
        if (!std::isalpha(static_cast<unsigned char>(c))) return std::nullopt;
    return read;
}

}  // namespace fact::graph
