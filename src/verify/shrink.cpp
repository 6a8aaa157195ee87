#include "verify/shrink.h"

#include <algorithm>

#include "graph/arguments.h"
#include "verify/extents.h"
#include "verify/resize.h"

namespace fact::verify {

namespace {

using graph::Graph;
using graph::TensorType;
using graph::ValueId;

// Extents are not made smaller than this, so that a wrong stride still shows.
constexpr std::int64_t kMinExtent = 2;
// What one element of a result costs at least, in multiplications of a product: each element is
// interpreted separately, and compared with f64 in many ways.
constexpr double kElement = 16;

double elements(const TensorType& type) {
    double count = 1;
    for (const auto size : type.sizes) count *= static_cast<double>(size);
    return count;
}

// How many multiplications each element of the node's result takes; 1 if it is not a product.
double products_per_element(const Graph& graph, const graph::Node& node) {
    const auto extent = [&](ValueId value, std::size_t from_right) {
        const auto& type = graph[value].type;
        if (!type || type->sizes.size() <= from_right) return 1.0;
        return static_cast<double>(type->sizes[type->sizes.size() - 1 - from_right]);
    };
    if (const auto product = product_operands(node)) return extent(product->a, 0);
    const auto reads = graph::tensor_inputs(node);
    if (node.target == "aten.scaled_dot_product_attention.default" && reads.size() > 1)
        return 2 * extent(reads[1], 1);  // N for the scores, N for the result
    if (is_convolution(node) && reads.size() > 1 && graph[reads[1]].type)
        return extent(reads[1], graph[reads[1]].type->sizes.size() - 2);  // C
    if (const auto read = graph::read_einsum(node); read && read->inputs.size() == reads.size())
        for (std::size_t i = 0; i < read->inputs[0].size(); ++i)
            if (read->result.find(read->inputs[0][i]) == read->result.npos)
                return extent(reads[0], read->inputs[0].size() - 1 - i);  // of a summed letter
    return 1;
}

}  // namespace

double work(const Graph& graph) {
    double total = 0;
    for (const auto& node : graph.nodes) {
        if (node.outputs.empty() || !graph[node.outputs[0]].type) continue;
        total += elements(*graph[node.outputs[0]].type) *
                 std::max(kElement, products_per_element(graph, node));
    }
    return total;
}

std::optional<Shrunk> shrink(const graph::FusedCall& call, const ir::Kernel& kernel,
                             double max_products) {
    if (work(call.original) <= max_products) return std::nullopt;
    const Resizable resizable(call, kernel);
    auto factors = resizable.factors();
    std::erase_if(factors, [](const auto& item) { return item.second.before < 2 * kMinExtent; });
    auto smaller = call.original;
    while (work(smaller) > max_products) {
        const auto largest =
            std::ranges::max_element(factors, {}, [](const auto& item) { return item.second.now; });
        if (largest == factors.end() || largest->second.now < 2 * kMinExtent) break;
        largest->second.now /= 2;
        smaller = resizable.with(factors);
    }
    Shrunk shrunk{call, {}};
    shrunk.call.original = std::move(smaller);
    shrunk.note = note_of(factors);
    if (shrunk.note.empty()) return std::nullopt;
    return shrunk;
}

}  // namespace fact::verify
