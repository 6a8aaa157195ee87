#include "ir/extents.h"

#include <fmt/format.h>

#include <optional>

namespace fact::ir {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 62;

// The one unknown factor; nullopt if there are none or several.
template <class Known>
std::optional<DimId> only_unknown(const Dim& dim, const Known& known) {
    std::optional<DimId> found;
    for (const DimId factor : dim.factors) {
        if (known(factor)) continue;
        if (found) return std::nullopt;
        found = factor;
    }
    return found;
}

// The product of the known factors; nullopt if it is too large to be an extent.
std::optional<std::int64_t> product_of(const Dim& dim, const std::vector<std::int64_t>& extents) {
    std::int64_t product = 1;
    for (const DimId factor : dim.factors) {
        const std::int64_t extent = extents[index(factor)];
        if (extent == kUnknownExtent) continue;
        if (extent > 0 && product > kMaxElements / extent) return std::nullopt;
        product *= extent;
    }
    return product;
}

}  // namespace

std::optional<std::int64_t> constant_extent(const Kernel& kernel, DimId dim) {
    std::int64_t product = 1;
    for (const DimId factor : kernel.factors({dim})) {
        if (!kernel[factor].extent) return std::nullopt;
        product *= *kernel[factor].extent;
    }
    return product;
}

std::optional<std::int64_t> known_extent(const Kernel& kernel, DimId dim,
                                         const std::vector<std::int64_t>& extents) {
    if (const auto constant = constant_extent(kernel, dim)) return constant;
    const std::size_t at = index(dim);
    if (at >= extents.size() || extents[at] == kUnknownExtent) return std::nullopt;
    return extents[at];
}

std::int64_t num_windows(const Kernel& kernel, const WindowRule& rule, std::int64_t extent) {
    const std::int64_t length = rule.dilation * (*constant_extent(kernel, rule.taps) - 1) + 1;
    const std::int64_t room = extent + rule.before + rule.after - length;
    return room < 0 ? 0 : room / rule.stride + 1;
}

std::string solve_extents(const Kernel& kernel, std::vector<std::int64_t>& extents) {
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        const Dim& dim = kernel.dims[d];
        if (!dim.extent) continue;
        if (extents[d] != kUnknownExtent && extents[d] != *dim.extent)
            return fmt::format("dimension {} has {} elements, but must have {}", dim.name,
                               extents[d], *dim.extent);
        extents[d] = *dim.extent;
    }
    const auto known = [&](DimId dim) { return extents[index(dim)] != kUnknownExtent; };
    for (bool learned = true; learned;) {
        learned = false;
        for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
            const Dim& dim = kernel.dims[d];
            if (dim.window && known(dim.window->of)) {
                const auto places =
                    num_windows(kernel, *dim.window, extents[index(dim.window->of)]);
                if (places == 0)
                    return fmt::format("no window of dimension {} fits into {} elements", dim.name,
                                       extents[index(dim.window->of)]);
                if (known(static_cast<DimId>(d)) && extents[d] != places)
                    return fmt::format("dimension {} has {} elements, but there are {} windows",
                                       dim.name, extents[d], places);
                learned |= !known(static_cast<DimId>(d));
                extents[d] = places;
            }
            if (dim.factors.empty()) continue;
            const auto product = product_of(dim, extents);
            if (!product) return fmt::format("dimension {} has more than 2^62 elements", dim.name);
            const auto missing = only_unknown(dim, known);
            bool all_known = true;
            for (const DimId factor : dim.factors) all_known &= known(factor);
            if (all_known && extents[d] == kUnknownExtent) {
                extents[d] = *product;
                learned = true;
            } else if (all_known && extents[d] != *product) {
                return fmt::format("dimension {} has {} elements, but its factors make {}",
                                   dim.name, extents[d], *product);
            } else if (missing && extents[d] != kUnknownExtent) {
                if (*product == 0 || extents[d] % *product != 0)
                    return fmt::format("dimension {} has {} elements, not a multiple of {}",
                                       dim.name, extents[d], *product);
                extents[index(*missing)] = extents[d] / *product;
                learned = true;
            }
        }
    }
    for (const Multiple& rule : kernel.multiples)
        if (known(rule.dim) && extents[index(rule.dim)] % rule.of != 0)
            return fmt::format("dimension {} has {} elements, not a multiple of {}",
                               kernel[rule.dim].name, extents[index(rule.dim)], rule.of);
    return "";
}

std::vector<bool> known_dims(const Kernel& kernel, std::vector<bool> known) {
    const auto is_known = [&](DimId dim) { return bool{known[index(dim)]}; };
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (kernel.dims[d].extent) known[d] = true;
    for (bool learned = true; learned;) {
        learned = false;
        for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
            const Dim& dim = kernel.dims[d];
            if (dim.window && !known[d] && is_known(dim.window->of)) known[d] = learned = true;
            if (dim.factors.empty()) continue;
            const auto missing = only_unknown(dim, is_known);
            bool all_known = true;
            for (const DimId factor : dim.factors) all_known &= is_known(factor);
            if (all_known && !known[d]) known[d] = learned = true;
            if (missing && known[d]) known[index(*missing)] = learned = true;
        }
    }
    return known;
}

}  // namespace fact::ir
