#include "verify/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/arguments.h"
#include "verify/extents.h"

namespace fact::verify {

namespace {

using graph::Graph;
using graph::TensorType;
using graph::ValueId;

// Few enough to be quick, enough for a wrong stride to show.
constexpr std::int64_t kLeastExtent = 2;

double elements(const TensorType& type) {
    double count = 1;
    for (const auto size : type.sizes) count *= static_cast<double>(size);
    return count;
}

// Strides of a dense tensor follow its new sizes, dimension order kept; others stay, which leaves
// a view into the same, larger storage.
void set_sizes(TensorType& type, const std::vector<std::int64_t>& sizes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](auto a, auto b) { return type.strides[a] < type.strides[b]; });
    std::int64_t expected = 1, next = 1;
    auto strides = type.strides;
    bool dense = true;
    for (const auto d : order) {
        if (type.sizes[d] == 1) continue;
        dense = dense && type.strides[d] == expected;
        expected *= type.sizes[d];
        strides[d] = next;
        next *= sizes[d];
    }
    type.sizes = sizes;
    if (dense) type.strides = strides;
}

// Lists of sizes among the arguments (view, expand, full, ...) are those of the result.
void rewrite_sizes(graph::Node& node, const std::vector<std::int64_t>& before,
                   const std::vector<std::int64_t>& after) {
    for (auto& argument : node.inputs) {
        auto* list = std::get_if<std::vector<std::int64_t>>(&argument.value);
        if (!list || argument.name == "dims" || list->size() != before.size()) continue;
        for (std::size_t d = 0; d < list->size(); ++d)
            if ((*list)[d] == before[d]) (*list)[d] = after[d];
    }
}

struct Factor {
    std::int64_t before = 0, now = 0;  // every extent of the class is a multiple of `before`
};

// The classes that may change, each with the largest factor all of its extents share.
std::map<int, Factor> changeable(const Graph& graph, const ExtentClasses& classes) {
    std::map<int, Factor> factors;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        const auto& type = graph.values[v].type;
        for (std::size_t d = 0; type && d < type->sizes.size(); ++d) {
            const int c = classes.of(static_cast<ValueId>(v), static_cast<int>(d));
            if (classes.fixed(c)) continue;
            auto& factor = factors[c];
            factor.before = factor.now = std::gcd(factor.before, type->sizes[d]);
        }
    }
    std::erase_if(factors, [](const auto& item) { return item.second.before < 2 * kLeastExtent; });
    return factors;
}

Graph with_factors(const Graph& original, const ExtentClasses& classes,
                   const std::map<int, Factor>& factors) {
    Graph graph = original;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        auto& type = graph.values[v].type;
        if (!type) continue;
        auto sizes = type->sizes;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            const auto found =
                factors.find(classes.of(static_cast<ValueId>(v), static_cast<int>(d)));
            if (found != factors.end())
                sizes[d] = sizes[d] / found->second.before * found->second.now;
        }
        set_sizes(*type, sizes);
    }
    for (auto& node : graph.nodes)
        if (!node.outputs.empty() && original[node.outputs[0]].type)
            rewrite_sizes(node, original[node.outputs[0]].type->sizes,
                          graph[node.outputs[0]].type->sizes);
    return graph;
}

// Extents the kernel text writes as numbers cannot change.
void fix_constants(const graph::FusedCall& call, const ir::Kernel& kernel, ExtentClasses& classes) {
    const auto fix = [&](const ir::Tensor& tensor, const std::vector<graph::Binding>& bindings) {
        for (const auto& binding : bindings) {
            if (binding.tensor != tensor.name) continue;
            for (std::size_t v = 0; v < call.original.values.size(); ++v) {
                const auto& value = call.original.values[v];
                if (value.name != binding.value || !value.type) continue;
                for (std::size_t i = 0; i < tensor.type.dims.size() && i < binding.dims.size(); ++i)
                    if (kernel[tensor.type.dims[i]].extent)
                        for (const int d : binding.dims[i]) classes.fix(static_cast<ValueId>(v), d);
            }
        }
    };
    for (const auto& param : kernel.params) fix(param, call.params);
    for (const auto& output : kernel.outputs) fix(output.tensor, call.results);
}

// How many multiplications each element of the node's result takes.
double products_an_element(const Graph& graph, const graph::Node& node) {
    const auto last = [&](ValueId value, std::size_t from_right) {
        const auto& type = graph[value].type;
        if (!type || type->sizes.size() <= from_right) return 1.0;
        return static_cast<double>(type->sizes[type->sizes.size() - 1 - from_right]);
    };
    if (const auto product = product_operands(node)) return last(product->a, 0);
    const auto reads = graph::tensor_inputs(node);
    if (node.target == "aten.scaled_dot_product_attention.default" && reads.size() > 1)
        return 2 * last(reads[1], 1);
    if (node.target == "aten.conv2d.default" && reads.size() > 1) return last(reads[1], 2);  // C
    if (const auto read = graph::read_einsum(node); read && read->inputs.size() == reads.size())
        for (std::size_t i = 0; i < read->inputs[0].size(); ++i)
            if (read->result.find(read->inputs[0][i]) == read->result.npos)
                return last(reads[0], read->inputs[0].size() - 1 - i);
    return 1;
}

}  // namespace

double work(const Graph& graph) {
    double total = 0;
    for (const auto& node : graph.nodes) {
        if (node.outputs.empty() || !graph[node.outputs[0]].type) continue;
        total += elements(*graph[node.outputs[0]].type) * products_an_element(graph, node);
    }
    return total;
}

std::optional<Shrunk> shrink(const graph::FusedCall& call, const ir::Kernel& kernel,
                             double max_products) {
    if (work(call.original) <= max_products) return std::nullopt;
    ExtentClasses classes(call.original);
    fix_constants(call, kernel, classes);
    auto factors = changeable(call.original, classes);
    auto smaller = call.original;
    while (work(smaller) > max_products) {
        const auto largest =
            std::ranges::max_element(factors, {}, [](const auto& item) { return item.second.now; });
        if (largest == factors.end() || largest->second.now < 2 * kLeastExtent) break;
        largest->second.now /= 2;
        smaller = with_factors(call.original, classes, factors);
    }
    Shrunk shrunk{call, {}};
    shrunk.call.original = std::move(smaller);
    for (const auto& [c, factor] : factors)
        if (factor.now != factor.before)
            shrunk.note += fmt::format("{}{} -> {}", shrunk.note.empty() ? "" : ", ", factor.before,
                                       factor.now);
    if (shrunk.note.empty()) return std::nullopt;
    return shrunk;
}

}  // namespace fact::verify
