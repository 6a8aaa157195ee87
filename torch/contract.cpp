#include "torch/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "torch/tensors.h"

namespace fact::exec {

namespace {

bool same_sizes(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes) {
    const auto own = tensor.sym_sizes();
    return std::ranges::equal(
        own, sizes, [](const c10::SymInt& a, std::int64_t b) { return a == c10::SymInt(b); });
}

}  // namespace

Result<Contract> Contract::make(const graph::Graph& graph,
                                const std::vector<graph::Weight>& weights,
                                const std::map<std::string, const graph::FusedCall*>& calls) {
    Contract contract;
    const auto built_in = built_in_inputs(graph, calls);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const auto& input = graph.inputs[i];
        if (input.fixed) continue;
        const auto& value = graph[input.value];
        Input own{value.name, input.fqn.empty() ? "an input" : input.fqn, value.type, nullptr};
        if (own.type && own.type->dynamic) own.type.reset();
        if (std::ranges::find(built_in, i) != built_in.end()) {
            const auto weight = std::ranges::find(weights, input.fqn, &graph::Weight::fqn);
            if (weight == weights.end())
                return Error{fmt::format("the archive does not have {}, whose values are built "
                                         "into kernels",
                                         input.fqn),
                             "compose the package again"};
            own.built_in = std::make_shared<BuiltInBuffer>(input.fqn, load_weight(*weight));
        }
        contract.inputs_.push_back(std::move(own));
    }
    std::vector<std::optional<Layout>> written;
    for (const auto& output : graph.outputs) {
        if (!output.value) continue;
        const bool is_result = output.mutates.empty();
        (is_result ? contract.layouts_ : written).push_back(layout_of(graph[*output.value].type));
        if (!is_result) contract.written_.push_back(output.mutates);
    }
    contract.layouts_.insert(contract.layouts_.end(), written.begin(), written.end());
    return contract;
}

void Contract::check_sizes(const Tensors& inputs) const {
    TORCH_CHECK(!inputs.empty(), "a package needs at least one tensor to run on");
    TORCH_CHECK(inputs.size() == inputs_.size(),
                fmt::format("the package takes {} tensors, got {}", inputs_.size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& [name, fqn, type, built_in] = inputs_[i];
        if (!type || same_sizes(inputs[i], type->sizes)) continue;
        TORCH_CHECK_VALUE(false,
                          fmt::format("'{}' was {}[{}] when the module was traced, got sizes [{}]; "
                                      "trace it again with the other shape",
                                      name, info(type->dtype).torch, fmt::join(type->sizes, ", "),
                                      sizes_text(inputs[i])));
    }
}

void Contract::check_buffers(const Tensors& inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs_[i].built_in) inputs_[i].built_in->check(inputs[i]);
}

void Contract::refresh() const {
    for (const auto& input : inputs_)
        if (input.built_in) input.built_in->refresh();
}

bool Contract::has_traced_dtypes(const Tensors& inputs) const {
    return std::ranges::equal(inputs, inputs_, [](const at::Tensor& tensor, const Input& own) {
        return !own.type || scalar_type(own.type->dtype) == tensor.scalar_type();
    });
}

}  // namespace fact::exec
