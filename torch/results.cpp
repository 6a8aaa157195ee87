#include "torch/results.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "torch/tensors.h"

namespace fact::exec {

namespace {

constexpr std::uintptr_t kAlignment = 16;  // in bytes; torch.compile assumes it

// Whether elements of such a tensor may overlap in memory.
bool share_elements(const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t d) { return strides[d]; });
    std::int64_t length = 1;
    for (const std::size_t d : order) {
        if (sizes[d] == 1) continue;
        if (strides[d] < length) return true;
        length += (sizes[d] - 1) * strides[d];
    }
    return false;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t next = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        strides[d] = next;
        next *= std::max<std::int64_t>(sizes[d], 1);
    }
    return strides;
}

// Strides of dimensions with one element do not count.
bool has_layout(const at::Tensor& tensor, const Layout& layout) {
    for (std::size_t d = 0; d < layout.sizes.size(); ++d)
        if (layout.sizes[d] > 1 &&
            tensor.stride(static_cast<std::int64_t>(d)) != layout.strides[d] && tensor.numel() > 0)
            return false;
    return true;
}

bool is_aligned(const at::Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kAlignment == 0;
}

bool shares_memory(const at::Tensor& result, at::TensorList tensors) {
    return std::ranges::any_of(tensors, [&](const at::Tensor& other) {
        return other.has_storage() && other.is_alias_of(result);
    });
}

}  // namespace

std::optional<Layout> layout_of(const std::optional<graph::TensorType>& type) {
    if (!type || type->dynamic) return std::nullopt;
    Layout layout{type->sizes, type->strides, scalar_type(type->dtype)};
    if (share_elements(layout.sizes, layout.strides)) layout.strides = dense_strides(layout.sizes);
    return layout;
}

Tensors with_own_memory(Tensors results, const Tensors& inputs,
                        const std::vector<std::optional<Layout>>& layouts) {
    for (std::size_t i = 0; i < results.size(); ++i) {
        at::Tensor& result = results[i];
        const auto& layout = layouts[i];
        // Nothing else refers to the memory of most results: a quick test.
        const bool has_own_memory =
            (result.use_count() == 1 && result.storage().use_count() == 1) ||
            !(shares_memory(result, inputs) || shares_memory(result, {results.data(), i}));
        if (!layout) {
            if (!has_own_memory) result = result.clone();
            continue;
        }
        TORCH_CHECK(std::ranges::equal(result.sizes(), layout->sizes),
                    fmt::format("result {} has the sizes [{}], but had [{}] when the module was "
                                "traced",
                                i, sizes_text(result), fmt::join(layout->sizes, ", ")));
        if (has_own_memory && has_layout(result, *layout) && is_aligned(result)) {
            if (!std::ranges::equal(result.strides(), layout->strides))
                result = result.as_strided(layout->sizes, layout->strides);
            continue;
        }
        auto copy = at::empty_strided(layout->sizes, layout->strides, result.options());
        copy.copy_(result);
        result = std::move(copy);
    }
    return results;
}

}  // namespace fact::exec
