// The tensors of a call as its kernel takes them: a tensor of the kernel is one tensor of the call,
// or several that are its parts (graph/fused.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "torch/executor.h"
#include "torch/tensors.h"
#include "verify/binding_view.h"

namespace fact::exec {

// Which tensor of the call is a tensor of the kernel, or a part of one.
struct Place {
    std::size_t index = 0;  // among the call's inputs or results
    graph::Binding binding;
};
using Parts = std::vector<Place>;  // one or several, which together are a tensor of the kernel

// The parts of each of the kernel's `tensors`, in this order, by their indices in `values` (the
// call's inputs or results). An Error says what is not bound.
Result<std::vector<Parts>> places(const std::vector<std::string>& tensors,
                                  const std::vector<graph::Binding>& bindings,
                                  const std::vector<std::string>& values);

Tensors tensors_of(const Parts& parts, const Tensors& all);

// Uninitialised tensors for a call's `count` results. Results that are `into` (FusedFunction) are
// taken from there, unless they are parts of a tensor with others.
Tensors outputs_of(const std::vector<graph::OutputGroup>& groups, std::size_t count,
                   c10::Device device, const Tensors& into);

// The view a kernel takes of a tensor, as gpu::TensorArg or ir::TensorView.
template <class View>
Result<View> bind(const graph::Binding& binding, const at::Tensor& tensor) {
    const auto dtype = dtype_of(tensor.scalar_type());
    if (!dtype)
        return Error{fmt::format("{} has an element type no kernel takes", binding.value), {}};
    // Kernels only read their parameters; data_ptr would copy a lazily cloned one.
    return verify::bind<View>(binding, const_cast<void*>(tensor.const_data_ptr()), *dtype,
                              tensor.sizes(), tensor.strides());
}

// Extends the rows of a view by the next part of its tensor; false if the part is not next to it.
template <class View>
bool append(View& whole, const View& part) {
    if (whole.sizes.empty() || whole.sizes.size() != part.sizes.size()) return false;
    const auto bytes = static_cast<const char*>(part.data) - static_cast<const char*>(whole.data);
    const std::int64_t row = whole.sizes.back() * whole.strides.back();
    bool fits = bytes == row * info(whole.dtype).bytes && whole.dtype == part.dtype &&
                whole.strides.back() == part.strides.back();
    for (std::size_t d = 0; d + 1 < whole.sizes.size(); ++d)
        fits = fits && whole.sizes[d] == part.sizes[d] &&
               (whole.sizes[d] == 1 || whole.strides[d] == part.strides[d]);
    whole.sizes.back() += part.sizes.back();
    return fits;
}

template <class View>
Result<std::vector<View>> bind_results(const std::vector<Parts>& results, const Tensors& tensors) {
    std::vector<View> views;
    for (const Parts& parts : results)
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& binding = parts[i].binding;
            auto view = bind<View>(binding, tensors[parts[i].index]);
            if (!view) return view.error();
            if (i == 0)
                views.push_back(std::move(*view));
            else if (!append(views.back(), *view))
                return Error{fmt::format("{} is not next to the other parts of {} in memory",
                                         binding.value, binding.tensor),
                             {}};
        }
    return views;
}

}  // namespace fact::exec
