#include "verify/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "graph/arguments.h"
#include "verify/shrink.h"

namespace fact::verify {

namespace {

using graph::Graph;
using graph::TensorType;
using graph::ValueId;

// A dense tensor stays dense, in the same order of dimensions. Any other tensor keeps its strides
// and becomes a view into storage of the original size.
void set_sizes(TensorType& type, const std::vector<std::int64_t>& sizes) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](auto a, auto b) { return type.strides[a] < type.strides[b]; });
    std::int64_t old_stride = 1, new_stride = 1;  // of a dense tensor, for the next dimension
    auto strides = type.strides;
    bool dense = true;
    for (const auto d : order) {
        if (type.sizes[d] == 1) continue;
        dense = dense && type.strides[d] == old_stride;
        old_stride *= type.sizes[d];
        strides[d] = new_stride;
        new_stride *= sizes[d];
    }
    type.sizes = sizes;
    if (dense) type.strides = strides;
}

// Adapts the end of a slice, or of a range that starts from 0.
void rewrite_end(graph::Node& node, const std::vector<std::int64_t>& before,
                 const std::vector<std::int64_t>& after) {
    const bool slice = node.target == "aten.slice.Tensor";
    if (!slice && !node.target.starts_with("aten.arange.")) return;
    const auto dim = slice ? graph::int_argument(node, "dim").value_or(0) : 0;
    const auto at = static_cast<std::size_t>(dim < 0 ? dim + std::ssize(before) : dim);
    for (auto& argument : node.inputs) {
        auto* end = std::get_if<std::int64_t>(&argument.value);
        if (end && argument.name == "end" && at < before.size() && *end == before[at])
            *end = after[at];
    }
}

// Adapts the arguments of a node that takes a half. Returns false, without doing anything, for any
// other node.
bool rewrite_half(graph::Node& node, const Graph& original, const Graph& resized) {
    const auto halving = both_halves(original, node);
    if (!halving || halving->place != graph::HalfPlace::outer) return false;
    const std::int64_t size = resized[halving->source].type->sizes[halving->dim] / 2;
    for (auto& argument : node.inputs) {
        if (argument.name == "start") argument.value = halving->halves.front() * size;
        if (argument.name == "end") argument.value = (halving->halves.front() + 1) * size;
        if (argument.name == "split_size") argument.value = size;
        if (argument.name == "split_sizes") argument.value = std::vector{size, size};
    }
    return true;
}

// The list arguments that are sizes of the result (view, expand, full, ...). Others are dimensions,
// or lengths of parts.
constexpr std::array<std::string_view, 3> kSizes{"size", "shape", "repeats"};

void rewrite_sizes(graph::Node& node, const std::vector<std::int64_t>& before,
                   const std::vector<std::int64_t>& after) {
    for (auto& argument : node.inputs) {
        auto* list = std::get_if<std::vector<std::int64_t>>(&argument.value);
        if (!list || std::ranges::find(kSizes, argument.name) == kSizes.end() ||
            list->size() != before.size())
            continue;
        for (std::size_t d = 0; d < list->size(); ++d)
            if ((*list)[d] == before[d]) (*list)[d] = after[d];
    }
}

// The symbol that an extent of the kernel text is proportional to; nullopt if it is a number or has
// several symbols as factors.
std::optional<ir::DimId> symbol_of(const ir::Kernel& kernel, ir::DimId dim) {
    if (kernel[dim].factors.empty()) return kernel[dim].extent ? std::nullopt : std::optional(dim);
    std::optional<ir::DimId> found;
    for (const ir::DimId factor : kernel[dim].factors) {
        if (kernel[factor].extent) continue;
        if (found) return std::nullopt;
        found = factor;
    }
    return found;
}

// Extents that are literals in the kernel text cannot change; those with the same name change
// together. Parts of one tensor keep their lengths: the text may distinguish them.
void follow_text(const graph::FusedCall& call, const ir::Kernel& kernel, ExtentClasses& classes) {
    // Where each symbol of the text first occurs: a value of the graph and its dimension.
    std::map<ir::DimId, std::pair<ValueId, int>> first_uses;
    const auto follow = [&](const ir::Tensor& tensor, const graph::Binding& binding,
                            ValueId value) {
        for (std::size_t i = 0; i < tensor.type.dims.size() && i < binding.dims.size(); ++i) {
            if (kernel[tensor.type.dims[i]].extent)
                for (const int d : binding.dims[i]) classes.fix(value, d);
            const auto symbol = symbol_of(kernel, tensor.type.dims[i]);
            if (!symbol || binding.dims[i].size() != 1) continue;
            const auto [first, added] =
                first_uses.try_emplace(*symbol, value, binding.dims[i].front());
            if (!added)
                classes.tie(first->second.first, first->second.second, value,
                            binding.dims[i].front());
        }
    };
    // The parts of a parameter lie along its first dimension, those of an output along its last.
    const auto follow_bindings = [&](const ir::Tensor& tensor,
                                     const std::vector<graph::Binding>& bindings, bool is_param) {
        const bool parts = std::ranges::count(bindings, tensor.name, &graph::Binding::tensor) > 1;
        for (const auto& binding : bindings)
            for (std::size_t v = 0; v < call.original.values.size(); ++v) {
                const auto& value = call.original.values[v];
                if (binding.tensor != tensor.name || value.name != binding.value || !value.type)
                    continue;
                follow(tensor, binding, static_cast<ValueId>(v));
                if (!parts) continue;
                for (const int d : is_param ? binding.dims.front() : binding.dims.back())
                    classes.fix(static_cast<ValueId>(v), d);
            }
    };
    for (const auto& param : kernel.params) follow_bindings(param, call.params, true);
    for (const auto& output : kernel.outputs) follow_bindings(output.tensor, call.results, false);
}

// An odd extent: `wish` if `before` is larger, else one near `before`.
std::int64_t odd_below(std::int64_t before, std::int64_t wish) {
    if (before > wish) return wish;
    if (before < 3) return before + 1;
    return before - 1 - before % 2;
}

// The same with a multiple of 8 that is not one of 16: a row length that TMA supports.
std::int64_t eights_below(std::int64_t before, std::int64_t wish) {
    if (before > wish) return wish;
    const auto below = (before - 1) / 8 * 8;
    return below >= 8 ? below - (below % 16 == 0 ? 8 : 0) : 8;
}

// What becomes of row lengths, the extents along which tensors are contiguous.
enum class Rows { odd, aligned, kept };

Factors changed(const Resizable& resizable, Rows rows) {
    Factors factors = resizable.factors();
    std::int64_t odd = 333, eights = 264;  // two tiles of 128, or one of 256, and a remainder
    for (auto& [c, factor] : factors) {
        if (resizable.innermost(c) && rows != Rows::odd) {
            if (rows == Rows::aligned) factor.now = eights_below(factor.before, eights);
            eights += 16;  // different extents, so that mixing up M and N shows
        } else {
            factor.now = odd_below(factor.before, odd);
            odd += 2;
        }
    }
    return factors;
}

}  // namespace

std::string note_of(const Factors& factors) {
    std::string note;
    for (const auto& [c, factor] : factors)
        if (factor.now != factor.before)
            note += fmt::format("{}{} -> {}", note.empty() ? "" : ", ", factor.before, factor.now);
    return note;
}

Resizable::Resizable(const graph::FusedCall& call, const ir::Kernel& kernel)
    : call_(call), classes_(call.original) {
    follow_text(call, kernel, classes_);
    const auto& graph = call.original;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        const auto& type = graph.values[v].type;
        for (std::size_t d = 0; type && d < type->sizes.size(); ++d) {
            const int c = classes_.of(static_cast<ValueId>(v), static_cast<int>(d));
            if (classes_.fixed(c)) continue;
            auto& factor = factors_[c];
            factor.before = factor.now = std::gcd(factor.before, type->sizes[d]);
        }
    }
    std::erase_if(factors_, [](const auto& item) { return item.second.before < 2; });
}

bool Resizable::innermost(int extent_class) const {
    const auto& graph = call_.original;
    const auto in = [&](ValueId value) {
        const auto& type = graph[value].type;
        for (std::size_t d = 0; type && d < type->sizes.size(); ++d)
            if (type->strides[d] == 1 && type->sizes[d] > 1 &&
                classes_.of(value, static_cast<int>(d)) == extent_class)
                return true;
        return false;
    };
    return std::ranges::any_of(graph.inputs, [&](const auto& i) { return in(i.value); }) ||
           std::ranges::any_of(graph.outputs,
                               [&](const auto& o) { return o.value && in(*o.value); });
}

Graph Resizable::with(const Factors& factors) const {
    const Graph& original = call_.original;
    Graph graph = original;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        auto& type = graph.values[v].type;
        if (!type) continue;
        auto sizes = type->sizes;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            const auto found =
                factors.find(classes_.of(static_cast<ValueId>(v), static_cast<int>(d)));
            if (found != factors.end())
                sizes[d] = sizes[d] / found->second.before * found->second.now;
        }
        set_sizes(*type, sizes);
    }
    for (auto& node : graph.nodes) {
        if (node.outputs.empty() || !original[node.outputs[0]].type) continue;
        const auto &before = original[node.outputs[0]].type->sizes,
                   &after = graph[node.outputs[0]].type->sizes;
        if (rewrite_half(node, original, graph)) continue;
        rewrite_sizes(node, before, after);
        rewrite_end(node, before, after);
    }
    return graph;
}

std::vector<Resized> other_sizes(const graph::FusedCall& call, const ir::Kernel& kernel,
                                 double max_products) {
    const Resizable resizable(call, kernel);
    std::vector<Resized> all;
    for (const Rows rows : {Rows::odd, Rows::aligned, Rows::kept}) {
        Factors factors = changed(resizable, rows);
        Resized resized{call, {}};
        resized.call.original = resizable.with(factors);
        while (work(resized.call.original) > max_products) {
            // Unless rows may be odd, only their number is halved, not their length.
            auto largest = factors.end();
            for (auto at = factors.begin(); at != factors.end(); ++at)
                if (at->second.now > 3 && (rows == Rows::odd || !resizable.innermost(at->first)) &&
                    (largest == factors.end() || at->second.now > largest->second.now))
                    largest = at;
            if (largest == factors.end()) break;
            largest->second.now = largest->second.now / 2 | 1;  // half of it, made odd
            resized.call.original = resizable.with(factors);
        }
        resized.note = note_of(factors);
        const bool repeated = std::ranges::any_of(
            all, [&](const Resized& earlier) { return earlier.note == resized.note; });
        if (!resized.note.empty() && !repeated) all.push_back(std::move(resized));
    }
    return all;
}

}  // namespace fact::verify
