#include "verify/binding_view.h"

#include <fmt/format.h>

namespace fact::verify {

namespace {

struct Merged {
    std::int64_t size = 1, stride = 0;
    bool fits = true;
};

// Dimensions of extent one say nothing about the layout: torch leaves any stride there.
Merged merge(const std::vector<int>& group, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides) {
    Merged merged;
    for (auto d = group.rbegin(); d != group.rend(); ++d) {
        const auto size = sizes[*d], stride = strides[*d];
        if (size == 1) continue;
        if (merged.size == 1)
            merged.stride = stride;
        else if (stride != merged.stride * merged.size)
            merged.fits = false;
        merged.size *= size;
    }
    return merged;
}

}  // namespace

Result<View> view_through(const graph::Binding& binding, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides) {
    std::vector<bool> named(sizes.size(), false);
    View view;
    for (const auto& group : binding.dims) {
        for (const int d : group) {
            if (d < 0 || static_cast<std::size_t>(d) >= sizes.size())
                return Error{fmt::format("{} has no dimension {}", binding.value, d), {}};
            named[d] = true;
        }
        const auto merged = merge(group, sizes, strides);
        if (!merged.fits)
            return Error{fmt::format("dimensions {} of {} do not lie behind one another in memory",
                                     fmt::join(group, ", "), binding.value),
                         {}};
        view.sizes.push_back(merged.size);
        view.strides.push_back(merged.stride);
    }
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (!named[d] && sizes[d] != 1 && strides[d] != 0)
            return Error{
                fmt::format("dimension {} of {} was expected to be broadcast", d, binding.value),
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
