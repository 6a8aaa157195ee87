#include "graph/fused.h"

namespace fact::graph {

std::vector<std::vector<std::size_t>> outputs_together(const FusedCall& call) {
    std::vector<std::vector<std::size_t>> together;
    std::vector<std::string> tensors;
    std::vector<bool> bound(call.original.outputs.size());
    for (const Binding& binding : call.results)
        for (std::size_t i = 0; i < call.original.outputs.size(); ++i) {
            const auto& value = call.original.outputs[i].value;
            if (!value || call.original[*value].name != binding.value) continue;
            if (tensors.empty() || tensors.back() != binding.tensor) {
                tensors.push_back(binding.tensor);
                together.emplace_back();
            }
            together.back().push_back(i);
            bound[i] = true;
        }
    for (std::size_t i = 0; i < bound.size(); ++i)
        if (!bound[i]) together.push_back({i});
    return together;
}

}  // namespace fact::graph
