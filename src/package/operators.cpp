#include "package/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "graph/fused.h"

namespace fact::package {

namespace {

// Every package may call the operators of these namespaces.
constexpr std::array<std::string_view, 2> kOpen{"aten", "prims"};

// An operator of these namespaces that no package may call.
struct Closed {
    std::string_view name, why;
};
constexpr std::string_view kUnchecked = "takes indices without checking them";
constexpr std::array kClosed{
    Closed{"aten.from_file", "opens files of this machine"},
    Closed{"aten._sparse_coo_tensor_unsafe", kUnchecked},
    Closed{"aten._sparse_compressed_tensor_unsafe", kUnchecked},
    Closed{"aten._sparse_csr_tensor_unsafe", kUnchecked},
    Closed{"aten._sparse_csc_tensor_unsafe", kUnchecked},
    Closed{"aten._sparse_bsr_tensor_unsafe", kUnchecked},
    Closed{"aten._sparse_bsc_tensor_unsafe", kUnchecked},
};

// "aten" for "aten.add.Tensor"; "" for a target that is no operator and is never called.
std::string_view namespace_of(std::string_view target) {
    const auto first = target.find('.');
    return first == target.rfind('.') ? std::string_view() : target.substr(0, first);
}

bool contains(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

Error refused(const graph::Node& node, std::string_view why, std::string hint) {
    const auto where = graph::describe(node.where);
    return {fmt::format("node {}{} calls {}, {}", node.name,
                        where.empty() ? "" : fmt::format(" ({})", where), node.target, why),
            std::move(hint)};
}

}  // namespace

std::vector<std::string> namespaces(const graph::Graph& graph) {
    std::set<std::string> found;
    for (const auto& node : graph.nodes)
        if (const auto name = namespace_of(node.target); !name.empty()) found.emplace(name);
    return {found.begin(), found.end()};
}

std::vector<std::string> to_be_allowed(const std::vector<std::string>& declared) {
    std::vector<std::string> out;
    std::ranges::copy_if(declared, std::back_inserter(out),
                         [](const std::string& name) { return !contains(kOpen, name); });
    return out;
}

Result<> check_operators(const graph::Graph& graph, const std::vector<std::string>& declared,
                         const std::vector<std::string>& allowed) {
    for (const auto& node : graph.nodes) {
        const std::string_view target = node.target;
        const auto space = namespace_of(target);
        if (target == graph::kFusedTarget || space.empty()) continue;
        const auto name = target.substr(0, target.rfind('.'));
        for (const auto& closed : kClosed)
            if (closed.name == name)
                return refused(node, fmt::format("which {}", closed.why),
                               "no package may call it: do not use this package");
        if (contains(kOpen, space)) continue;
        if (!contains(declared, space))
            return refused(
                node,
                fmt::format("of the namespace {}, which its manifest does not declare", space),
                "do not use this package, or write it again with `fact compose`");
        if (!contains(allowed, space))
            return refused(
                node, fmt::format("of the namespace {}, which is not torch's own", space),
                fmt::format("import the library that defines it, if you trust it, and load with "
                            "fact.load(path, allow=[\"{}\"])",
                            space));
    }
    return Ok{};
}

}  // namespace fact::package
