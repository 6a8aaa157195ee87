#include "torch/parts.h"

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

}  // namespace fact::exec
