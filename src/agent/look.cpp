#include "agent/look.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "support/result.h"

namespace fact::agent {

namespace {

using graph::Graph;
using graph::Node;

std::string type_text(const graph::Value& value) {
    if (!value.type) return "?";
    std::string text = std::string(info(value.type->dtype).name);
    text += fmt::format("[{}]", fmt::join(value.type->sizes, ","));
    return text;
}

// "linear" for "aten.linear.default"; operators of other libraries keep their namespace.
std::string short_target(const std::string& target) {
    std::string text = target;
    if (text.starts_with("aten.")) text.erase(0, 5);
    if (text.ends_with(".default")) text.erase(text.size() - 8);
    return text;
}

std::string number(double value) {
    return fmt::format("{:g}", value);
}

// A non-tensor argument in words; "" for tensors, which call_text() prints, and for kinds of
// arguments that are not shown.
std::string argument_text(const graph::Argument& argument) {
    return std::visit(
        overloaded{
            [](bool flag) { return std::string(flag ? "true" : "false"); },
            [](std::int64_t integer) { return fmt::to_string(integer); },
            [](double floating) { return number(floating); },
            [](const std::string& text) { return text; },
            [](const std::vector<std::int64_t>& list) {
                return fmt::format("[{}]", fmt::join(list, ","));
            },
            [](const graph::DTypeArg& type) { return std::string(info(type.dtype).name); },
            [](const one_of<graph::None, graph::ValueId, std::vector<graph::ValueId>,
                            std::vector<std::optional<graph::ValueId>>, std::vector<bool>,
                            std::vector<double>, std::vector<std::string>, graph::MemoryFormatArg,
                            graph::LayoutArg, graph::DeviceArg, graph::OpaqueArg> auto&) {
                return std::string();
            },
        },
        argument);
}

std::string call_text(const Graph& graph, const Node& node, bool with_names) {
    std::vector<std::string> parts;
    const auto tensor = [&](graph::ValueId value) {
        return (with_names ? graph[value].name + " " : "") + type_text(graph[value]);
    };
    for (const auto& argument : node.inputs) {
        if (const auto* one = std::get_if<graph::ValueId>(&argument.value)) {
            parts.push_back(tensor(*one));
        } else if (const auto* list = std::get_if<std::vector<graph::ValueId>>(&argument.value)) {
            for (const auto value : *list) parts.push_back(tensor(value));
        } else if (const auto* some =
                       std::get_if<std::vector<std::optional<graph::ValueId>>>(&argument.value)) {
            for (const auto& value : *some) parts.push_back(value ? tensor(*value) : "none");
        } else if (const auto text = argument_text(argument.value); !text.empty()) {
            parts.push_back(fmt::format("{}={}", argument.name, text));
        }
    }
    std::vector<std::string> results;
    for (const auto value : node.outputs) results.push_back(type_text(graph[value]));
    return fmt::format("{}({}) -> {}", short_target(node.target), fmt::join(parts, ", "),
                       fmt::join(results, ", "));
}

// "model.layers" and 3 for "model.layers.3.mlp": split at the outermost part that is a number.
struct Numbered {
    std::string prefix;
    int number = 0;
    bool operator<(const Numbered& other) const {
        return std::tie(prefix, number) < std::tie(other.prefix, other.number);
    }
};
std::optional<Numbered> numbered(const std::string& path) {
    std::size_t begin = 0;
    while (begin < path.size()) {
        const auto end = std::min(path.find('.', begin), path.size());
        const auto part = path.substr(begin, end - begin);
        // Longer numbers may not fit into an int.
        if (!part.empty() && part.size() < 7 &&
            std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); }))
            return Numbered{path.substr(0, begin == 0 ? 0 : begin - 1), std::stoi(part)};
        begin = end + 1;
    }
    return std::nullopt;
}

bool below(const std::string& path, const std::string& module) {
    return module.empty() || path == module || path.starts_with(module + ".");
}

}  // namespace

Listing look(const Graph& graph, const std::vector<sol::NodeBound>& bounds,
             const LookRequest& request) {
    double total = 0;
    std::map<graph::NodeId, double> us;
    for (const auto& one : bounds) total += us[one.node] = one.unfused_us;
    // What each numbered module computes, without names.
    std::map<Numbered, std::string> contents;
    std::map<Numbered, double> module_us;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto module = numbered(graph.nodes[i].where.module_path);
        if (!module) continue;
        contents[*module] += call_text(graph, graph.nodes[i], false) + "\n";
        module_us[*module] += us[static_cast<graph::NodeId>(i)];
    }
    const auto like_before = [&](const Numbered& module) {
        const auto own = contents.find(module);
        const auto before = contents.find({module.prefix, module.number - 1});
        return before != contents.end() && before->second == own->second;
    };
    const auto share = [&](double time) {
        return bounds.empty() ? "" : fmt::format("  {:.1f}%", total > 0 ? 100 * time / total : 0);
    };

    std::vector<std::string> all;
    // By the first of several equal modules: whether the one line for all the others was printed.
    std::map<Numbered, bool> fold_printed;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Node& node = graph.nodes[i];
        if (!below(node.where.module_path, request.module)) continue;
        const auto module = numbered(node.where.module_path);
        if (request.fold && request.module.empty() && module && like_before(*module)) {
            Numbered first = *module, last = *module;
            while (like_before(first)) --first.number;
            if (std::exchange(fold_printed[first], true)) continue;
            double time = module_us[last];
            while (contents.contains({last.prefix, last.number + 1}) &&
                   like_before({last.prefix, last.number + 1}))
                time += module_us[{last.prefix, ++last.number}];
            all.push_back(fmt::format(
                "... {0}.{1} to {0}.{2}: each as {0}.{3}, under other names{4}", first.prefix,
                first.number + 1, last.number, first.number, share(time)));
            continue;
        }
        all.push_back(fmt::format("{} = {}  {}{}", node.name, call_text(graph, node, true),
                                  graph::describe(node.where),
                                  share(us[static_cast<graph::NodeId>(i)])));
    }
    Listing looked;
    looked.all = static_cast<int>(all.size());
    const auto first = std::clamp(request.first, 0, looked.all);
    const auto last = std::clamp(first + std::max(request.count, 0), first, looked.all);
    looked.lines.assign(all.begin() + first, all.begin() + last);
    return looked;
}

}  // namespace fact::agent
