#include "driver/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "gpu/launch_plan.h"
#include "support/files.h"
#include "verify/binding_view.h"

namespace fact::driver {

namespace {

using graph::Binding;
using graph::TensorType;

std::vector<const Binding*> bindings_of(const std::string& tensor,
                                        const std::vector<Binding>& all) {
    std::vector<const Binding*> own;
    for (const Binding& binding : all)
        if (binding.tensor == tensor) own.push_back(&binding);
    return own;
}

// The launch records of the families that were asked for.
class Records {
  public:
    explicit Records(const Realizations& realizations) : realizations_(realizations) {}

    const Result<LaunchRecord>& of(const std::string& family) {
        const auto known = read_.find(family);
        if (known != read_.end()) return known->second;
        const auto text = read_file(realizations_.at(family).folder / "record.json");
        return read_
            .emplace(family,
                     text ? launch_record_from_json(*text) : Result<LaunchRecord>(text.error()))
            .first->second;
    }

  private:
    const Realizations& realizations_;
    std::map<std::string, Result<LaunchRecord>> read_;
};

}  // namespace

std::string refused_by_launcher(
    const graph::FusedCall& call, const LaunchRecord& record,
    const std::function<const TensorType&(const std::string& value)>& type) {
    std::vector<gpu::TensorArg> tensors;
    for (int i = 0; i < record.num_bound(); ++i) {
        const bool is_result = static_cast<std::size_t>(i) >= record.params.size();
        const auto& name = record.spec(i).name;
        const auto own = bindings_of(name, is_result ? call.results : call.params);
        if (own.empty()) return fmt::format("{} is not bound", name);
        if (own.size() > 1 && is_result)
            return fmt::format("{} is one of {} parts of a result", own[0]->value, own.size());
        TensorType tensor = type(own[0]->value);
        if (own.size() > 1) {  // weights, which the executor joins
            for (std::size_t p = 1; p < own.size(); ++p)
                tensor.sizes[0] += type(own[p]->value).sizes.at(0);
            std::int64_t step = 1;
            for (std::size_t d = tensor.sizes.size(); d-- > 0; step *= tensor.sizes[d])
                tensor.strides[d] = step;
            tensor.offset = 0;
        }
        // The address only says how the tensor is aligned in memory, which torch allocates at
        // multiples of 64 bytes and more.
        auto* start = reinterpret_cast<void*>(tensor.offset * info(tensor.dtype).bytes);
        auto bound = verify::bind<gpu::TensorArg>(*own[0], start, tensor.dtype, tensor.sizes,
                                                  tensor.strides);
        if (!bound) return bound.error().message;
        tensors.push_back(std::move(*bound));
    }
    return gpu::why_refused(record, tensors);
}

compose::Refusal launchers(const std::vector<graph::FusedCall>& calls,
                           const Realizations& realizations) {
    return [&calls, &realizations, records = std::make_shared<Records>(realizations)](
               const graph::Graph& graph, const graph::Node& node,
               const compose::Layouts& layouts) -> std::string {
        const auto call = std::ranges::find(calls, node.name, &graph::FusedCall::id);
        std::map<std::string, TensorType> types;
        bool as_traced = true;
        auto values = graph::tensor_inputs(node);
        values.insert(values.end(), node.outputs.begin(), node.outputs.end());
        for (const auto value : values) {
            const auto& traced = graph[value].type;
            if (!traced) continue;
            const auto at = layouts.find(value);
            const auto& type = at == layouts.end() ? *traced : at->second;
            as_traced = as_traced && type == *traced;
            types[graph[value].name] = type;
        }
        // Its record's rules are those of the kernel that declares its tensors, or none.
        if (!as_traced && realizations.at(call->kernel).from_file)
            return "it is written in CUDA, and was proved on dense tensors";
        const auto& record = records->of(call->kernel);
        if (!record) return record.error().message;
        return refused_by_launcher(
            *call, *record,
            [&](const std::string& value) -> const TensorType& { return types.at(value); });
    };
}

}  // namespace fact::driver
