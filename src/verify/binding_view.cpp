#include "verify/binding_view.h"

#include <fmt/format.h>

namespace fact::verify {

namespace {

struct Merged {
    std::int64_t size = 1, stride = 0;
    bool fits = true;  // the merged dimensions are adjacent in memory
};

// The group's dimensions as one. Those of extent one say nothing about the layout: torch allows any
// stride there.
Merged merge(const std::vector<int>& group, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides) {
    Merged merged;
    for (auto d = group.rbegin(); d != group.rend(); ++d) {
        const auto size = sizes[*d], stride = strides[*d];
        if (size == 1) continue;
        if (merged.size == 1)
            merged.stride = stride;
        else if (stride != merged.stride * merged.size)
            return {.fits = false};
        merged.size *= size;
    }
    return merged;
}

// Restricts the view to a half; false if the dimension does not exist or its extent is odd.
bool take_half(const graph::Half& half, View& view) {
    const auto dim = static_cast<std::size_t>(half.dim);
    if (dim >= view.sizes.size() || view.sizes[dim] % 2 != 0) return false;
    view.sizes[dim] /= 2;
    view.offset = half.number * view.strides[dim] * (half.stepped ? 1 : view.sizes[dim]);
    if (half.stepped) view.strides[dim] *= 2;
    return true;
}

}  // namespace

Result<View> view_through(const graph::Binding& binding, std::span<const std::int64_t> all_sizes,
                          std::span<const std::int64_t> all_strides) {
    // The tensor, or the half of it that is bound.
    View source{{all_sizes.begin(), all_sizes.end()}, {all_strides.begin(), all_strides.end()}};
    if (binding.half && !take_half(*binding.half, source))
        return Error{
            fmt::format("dimension {} of {} cannot be halved: it is missing or has an odd extent",
                        binding.half->dim, binding.value),
            {}};
    const auto &sizes = source.sizes, &strides = source.strides;
    std::vector<bool> named(sizes.size(), false);
    View view;
    view.offset = source.offset;
    for (const auto& group : binding.dims) {
        for (const int d : group) {
            if (d < 0 || static_cast<std::size_t>(d) >= sizes.size())
                return Error{fmt::format("{} has no dimension {}", binding.value, d), {}};
            named[d] = true;
        }
        const auto merged = merge(group, sizes, strides);
        if (!merged.fits)
            return Error{fmt::format("dimensions {} of {} are not adjacent in memory",
                                     fmt::join(group, ", "), binding.value),
                         {}};
        view.sizes.push_back(merged.size);
        view.strides.push_back(merged.stride);
    }
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (!named[d] && sizes[d] != 1 && strides[d] != 0)
            return Error{fmt::format("dimension {} of {} is not bound, and it is not broadcast", d,
                                     binding.value),
                         {}};
    // An extent of one gets the stride it would have if the view were dense there.
    std::int64_t dense = 1;
    for (std::size_t i = view.sizes.size(); i-- > 0;) {
        if (view.sizes[i] == 1) view.strides[i] = dense;
        dense = view.sizes[i] * view.strides[i];
        if (dense == 0) dense = 1;
    }
    return view;
}

}  // namespace fact::verify
