#include "driver/strides.h"

#include <fmt/format.h>

#include "gpu/launch_plan.h"
#include "verify/binding_view.h"

namespace fact::driver {

namespace {

using graph::Binding;
using graph::TensorType;

// As torch/parts.h binds a tensor, at an address that only says how it is aligned: torch allocates
// memory at multiples of 64 bytes and more.
Result<gpu::TensorArg> bind(const Binding& binding, const TensorType& type) {
    auto view = verify::view_through(binding, type.sizes, type.strides);
    if (!view) return view.error();
    const auto start = (type.offset + view->offset) * info(type.dtype).bytes;
    return gpu::TensorArg{reinterpret_cast<void*>(start), type.dtype, std::move(view->sizes),
                          std::move(view->strides)};
}

std::vector<const Binding*> bindings_of(const std::string& tensor,
                                        const std::vector<Binding>& all) {
    std::vector<const Binding*> own;
    for (const Binding& binding : all)
        if (binding.tensor == tensor) own.push_back(&binding);
    return own;
}

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
        auto bound = bind(*own[0], tensor);
        if (!bound) return bound.error().message;
        tensors.push_back(std::move(*bound));
    }
    return gpu::why_refused(record, tensors);
}

}  // namespace fact::driver
