#include "torch/parts.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

namespace fact::exec {

Result<std::vector<Parts>> places(const std::vector<std::string>& tensors,
                                  const std::vector<graph::Binding>& bindings,
                                  const std::vector<std::string>& values) {
    std::vector<Parts> result;
    for (const auto& tensor : tensors) {
        Parts& parts = result.emplace_back();
        for (const auto& binding : bindings) {
            if (binding.tensor != tensor) continue;
            const auto value = std::ranges::find(values, binding.value);
            if (value == values.end())
                return Error{fmt::format("{} is bound to {}, which the call does not have", tensor,
                                         binding.value),
                             {}};
            parts.push_back({static_cast<std::size_t>(value - values.begin()), binding});
        }
        if (parts.empty())
            return Error{fmt::format("the kernel's tensor {} is not bound to a value", tensor), {}};
    }
    return result;
}

Tensors tensors_of(const Parts& parts, const Tensors& all) {
    Tensors own;
    for (const Place& part : parts) own.push_back(all[part.index]);
    return own;
}

Tensors outputs_of(const std::vector<graph::OutputGroup>& groups, std::size_t count,
                   c10::Device device, const Tensors& into) {
    Tensors outputs(count);
    for (const auto& [numbers, types, length] : groups) {
        const auto options = at::TensorOptions(scalar_type(types[0].dtype)).device(device);
        const std::size_t first = numbers[0];
        if (numbers.size() == 1) {
            const bool given = first < into.size() && into[first].defined() &&
                               std::ranges::equal(into[first].sizes(), types[0].sizes) &&
                               into[first].scalar_type() == scalar_type(types[0].dtype);
            outputs[first] =
                given ? into[first] : at::empty_strided(types[0].sizes, types[0].strides, options);
            continue;
        }
        const auto all = at::empty({length}, options);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            outputs[numbers[i]] = all.as_strided(types[i].sizes, types[i].strides, types[i].offset);
    }
    return outputs;
}

}  // namespace fact::exec
