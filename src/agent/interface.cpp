#include "agent/interface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "dsl/words.h"
#include "match/regions/facts.h"
#include "verify/extents.h"

namespace fact::agent {

namespace {

using graph::Graph;
using graph::TensorType;
using graph::ValueId;

// Names of dimensions, used in the order in which dimensions are encountered; then D2, D3, ...
constexpr std::array<std::string_view, 16> kLetters{"B", "M", "K", "N", "H", "D", "E", "F",
                                                    "G", "P", "Q", "R", "S", "T", "U", "V"};

std::vector<int> memory_order(const TensorType& type) {
    std::vector<int> dims;
    for (int d = 0; d < static_cast<int>(type.sizes.size()); ++d)
        if (type.sizes[d] != 1 && type.strides[d] != 0) dims.push_back(d);
    std::ranges::stable_sort(dims, std::ranges::greater(), [&](int d) { return type.strides[d]; });
    return dims;
}

// Names dimensions. Those whose extents can only change together (verify::ExtentClasses) within the
// set of operators get the same name.
class DimNames {
  public:
    DimNames(const Graph& graph, const NodeSet& set)
        : part_(graph::extract(graph, set.nodes, set.inputs, set.outputs)), classes_(part_) {
        for (std::size_t i = 0; i < part_.values.size(); ++i)
            values_.emplace(part_.values[i].name, static_cast<ValueId>(i));
    }

    // Names of these dimensions of a value, all different.
    std::vector<std::string> of(const std::string& value, const TensorType& type,
                                const std::vector<int>& dims,
                                std::map<std::string, std::int64_t>& extents) {
        std::vector<std::string> names;
        for (const int d : dims) {
            const auto extent = type.sizes[static_cast<std::size_t>(d)];
            const std::pair key{classes_.of(values_.at(value), d), extent};
            auto at = names_.find(key);
            if (at == names_.end()) at = names_.emplace(key, fresh()).first;
            auto name = at->second;
            // A square matrix: the kernel language requires two names.
            if (std::ranges::find(names, name) != names.end()) name = fresh();
            extents[name] = extent;
            names.push_back(std::move(name));
        }
        return names;
    }

  private:
    std::string fresh() {
        const auto number = count_++;
        if (number < kLetters.size()) return std::string(kLetters[number]);
        return fmt::format("D{}", number - kLetters.size() + 2);
    }

    Graph part_;  // the set's operators as a graph of their own
    verify::ExtentClasses classes_;
    std::map<std::string, ValueId> values_;                      // of part_, by name
    std::map<std::pair<int, std::int64_t>, std::string> names_;  // by extent class and extent
    std::size_t count_ = 0;
};

// "gate_proj_weight" of "layers.0.mlp.gate_proj.weight", a value's own name otherwise.
std::string plain_name(const Graph& graph, ValueId value) {
    std::string name = graph[value].name;
    for (const auto& input : graph.inputs)
        if (input.value == value && !input.fqn.empty()) {
            const auto last = input.fqn.rfind('.');
            const auto before = last == std::string::npos || last == 0
                                    ? std::string::npos
                                    : input.fqn.rfind('.', last - 1);
            name = input.fqn.substr(before == std::string::npos ? 0 : before + 1);
        }
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

std::string unique_name(std::string name, std::set<std::string>& taken) {
    if (!dsl::is_valid_name(name) || dsl::is_function(name)) name = "t_" + name;
    auto free = name;
    for (int i = 2; !taken.insert(free).second; ++i) free = fmt::format("{}_{}", name, i);
    return free;
}

// A result's dimension that no parameter has becomes a number: nothing determines its extent.
void number_free_dims(Interface& interface) {
    std::set<std::string> known;
    for (const Tensor& param : interface.params)
        known.insert(param.dim_names.begin(), param.dim_names.end());
    for (Tensor& result : interface.results)
        for (std::string& dim : result.dim_names)
            if (!known.contains(dim)) dim = std::to_string(interface.extents.at(dim));
    std::erase_if(interface.extents, [&](const auto& one) { return !known.contains(one.first); });
}

}  // namespace

Interface interface_of(const Graph& graph, const NodeSet& set) {
    Interface interface;
    DimNames names(graph, set);
    const match::Facts facts(graph);
    std::set<std::string> taken;
    const auto add = [&](ValueId value, std::vector<Tensor>& to) {
        const TensorType& type = *graph[value].type;
        Tensor tensor;
        tensor.name = unique_name(plain_name(graph, value), taken);
        tensor.value = value;
        tensor.dims = memory_order(type);
        tensor.dim_names = names.of(graph[value].name, type, tensor.dims, interface.extents);
        tensor.constant = facts.constant[graph::index(value)];
        tensor.contiguous = tensor.dims.empty() || type.strides[tensor.dims.back()] == 1;
        to.push_back(std::move(tensor));
    };
    for (const ValueId value : set.inputs) add(value, interface.params);
    for (const ValueId value : set.outputs) add(value, interface.results);
    number_free_dims(interface);
    return interface;
}

Result<Interface> with_kernel_names(Interface interface, const Graph& graph,
                                    const std::vector<graph::Binding>& params,
                                    const std::vector<graph::Binding>& results) {
    const auto rename = [&](std::vector<Tensor>& tensors,
                            const std::vector<graph::Binding>& bindings) {
        if (tensors.size() != bindings.size()) return false;
        for (Tensor& tensor : tensors) {
            const auto& value = graph[tensor.value].name;
            const auto at = std::ranges::find(bindings, value, &graph::Binding::value);
            if (at == bindings.end() || at->half) return false;
            tensor.name = at->tensor;
        }
        std::set<std::string> names;
        for (const Tensor& tensor : tensors) names.insert(tensor.name);
        return names.size() == tensors.size();
    };
    if (rename(interface.params, params) && rename(interface.results, results)) return interface;
    return Error{"the kernel of this pattern reads parts of tensors, or several tensors as one",
                 "`propose` its operators, and write a text for that proposal", true};
}

std::string empty_kernel(const std::string& name, const Graph& graph, const Interface& interface) {
    const auto list = [&](const std::vector<Tensor>& tensors) {
        std::vector<std::string> lines;
        for (const Tensor& tensor : tensors)
            lines.push_back(fmt::format(
                "    {}: {}{}", tensor.name, info(graph[tensor.value].type->dtype).name,
                tensor.dims.empty() ? "" : fmt::format("[{}]", fmt::join(tensor.dim_names, ", "))));
        return fmt::format("{}", fmt::join(lines, ",\n"));
    };
    std::string body;
    for (const Tensor& tensor : interface.results) body += fmt::format("  {} = ...\n", tensor.name);
    return fmt::format("kernel {}(\n{}\n) -> (\n{}\n) {{\n{}}}\n", name, list(interface.params),
                       list(interface.results), body);
}

}  // namespace fact::agent
