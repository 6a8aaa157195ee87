#include "graph/fused.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace fact::graph {

namespace {

// Whether the dimension is one of those that form the rows of the kernel's output.
bool in_a_row(const Binding& binding, std::size_t dim) {
    return std::ranges::find(binding.dims.back(), static_cast<int>(dim)) !=
           binding.dims.back().end();
}

std::int64_t row_length(const Binding& binding, const TensorType& type) {
    std::int64_t length = 1;
    for (const int d : binding.dims.back()) length *= type.sizes[static_cast<std::size_t>(d)];
    return length;
}

// Sets strides and offsets so that every row of the output is one row of each part in turn.
void lay_side_by_side(const std::vector<const Binding*>& bindings, OutputGroup& group) {
    std::int64_t total_row = 0, offset = 0;
    for (std::size_t i = 0; i < bindings.size(); ++i)
        total_row += row_length(*bindings[i], group.types[i]);
    group.length = 0;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        TensorType& type = group.types[i];
        const std::int64_t own_row = row_length(*bindings[i], type);
        group.length += storage_length(type.sizes, type.strides);
        for (std::size_t d = 0; d < type.sizes.size(); ++d)
            if (!in_a_row(*bindings[i], d)) type.strides[d] = type.strides[d] / own_row * total_row;
        type.offset = offset;
        offset += own_row;
    }
}

}  // namespace

int alignment(std::int64_t start, const std::vector<std::int64_t>& strides, DType dtype) {
    std::int64_t divisor = start;
    for (const auto stride : strides)
        if (stride != 1) divisor = std::gcd(divisor, stride);
    if (divisor == 0) return 16;
    return static_cast<int>(std::gcd(divisor * info(dtype).bytes, std::int64_t{16}));
}

std::vector<OutputGroup> group_outputs(const FusedCall& call) {
    const Graph& graph = call.original;
    std::vector<OutputGroup> groups;
    std::vector<std::vector<const Binding*>> bindings;
    std::vector<bool> bound(graph.outputs.size());
    const auto add = [&](OutputGroup& group, std::size_t output) {
        group.outputs.push_back(output);
        if (!graph.outputs[output].value || !graph[*graph.outputs[output].value].type) return;
        TensorType& type = group.types.emplace_back(*graph[*graph.outputs[output].value].type);
        type.offset = 0;
        group.length = storage_length(type.sizes, type.strides);
    };
    for (const Binding& binding : call.results)
        for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
            const auto& value = graph.outputs[i].value;
            if (!value || graph[*value].name != binding.value) continue;
            if (bindings.empty() || bindings.back().front()->tensor != binding.tensor) {
                bindings.emplace_back();
                groups.emplace_back();
            }
            bindings.back().push_back(&binding);
            add(groups.back(), i);
            bound[i] = true;
        }
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (bindings[i].size() > 1) lay_side_by_side(bindings[i], groups[i]);
    for (std::size_t i = 0; i < bound.size(); ++i)
        if (!bound[i]) add(groups.emplace_back(), i);
    return groups;
}

FusedCall without_names(FusedCall call) {
    std::map<std::string, std::string> renamed;
    for (auto& value : call.original.values) {
        auto name = fmt::format("v{}", renamed.size());
        renamed[value.name] = name;
        value.name = std::move(name);
    }
    for (std::size_t i = 0; i < call.original.nodes.size(); ++i) {
        call.original.nodes[i].name = fmt::format("n{}", i);
        call.original.nodes[i].where = {};
    }
    for (auto& input : call.original.inputs) input.fqn.clear();
    for (auto* bindings : {&call.params, &call.results})
        for (auto& binding : *bindings) binding.value = renamed[binding.value];
    call.id.clear(), call.kernel.clear();
    call.original.in_spec.clear(), call.original.out_spec.clear();
    call.original.torch_version.clear(), call.original.schema_version.clear();
    return call;
}

}  // namespace fact::graph
