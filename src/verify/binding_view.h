// A tensor of the graph as the kernel that is bound to it sees it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/fused.h"
#include "support/result.h"

namespace fact::verify {

struct View {
    std::vector<std::int64_t> sizes, strides;  // in elements
    // Of the first element, in elements; 0 unless the binding takes the second half.
    std::int64_t offset = 0;
    bool operator==(const View&) const = default;
};

// The view that the binding describes: each group of dimensions merged into one. An Error if a
// group's strides do not allow merging; if a dimension does not exist; if one that is to be halved
// has an odd extent; or if one that is neither broadcast nor of extent one is in no group.
Result<View> view_through(const graph::Binding& binding, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);

// The tensor at `data` as the kernel sees it: a gpu::TensorArg or an ir::TensorView.
template <class Tensor>
Result<Tensor> bind(const graph::Binding& binding, void* data, DType dtype,
                    std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    auto view = view_through(binding, sizes, strides);
    if (!view) return view.error();
    auto* first = static_cast<char*>(data) + view->offset * info(dtype).bytes;
    return Tensor{first, dtype, std::move(view->sizes), std::move(view->strides)};
}

}  // namespace fact::verify
