#include "ir/opaque_dims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/extents.h"
#include "ir/typing.h"

namespace fact::ir {
namespace {

// The dimensions whose extents can be computed from those of the parameters and outputs.
std::vector<bool> computable_dims(const Kernel& kernel) {
    std::vector<bool> declared(kernel.dims.size());
    for (const Tensor& param : kernel.params)
        for (const DimId dim : param.type.dims) declared[index(dim)] = true;
    for (const Output& output : kernel.outputs)
        for (const DimId dim : output.tensor.type.dims) declared[index(dim)] = true;
    return known_dims(kernel, std::move(declared));
}

// A dimension whose extent is known but not those of all its factors. The one with the fewest
// factors comes first, since longer ones may contain it.
std::optional<DimId> dim_with_unknown_factors(const Kernel& kernel) {
    const auto known = computable_dims(kernel);
    std::optional<DimId> found;
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        const auto& factors = kernel.dims[d].factors;
        const bool factors_known = std::all_of(factors.begin(), factors.end(), [&](DimId factor) {
            return bool{known[index(factor)]};
        });
        if (factors_known || !known[d]) continue;
        if (!found || factors.size() < kernel[*found].factors.size()) found = static_cast<DimId>(d);
    }
    return found;
}

// An unused identifier for what was a factored dimension: "H*W" becomes "H_W".
std::string unused_identifier(const Kernel& kernel, std::string name) {
    std::replace(name.begin(), name.end(), '*', '_');
    if (name[0] >= '0' && name[0] <= '9') name.insert(0, 1, 'n');
    const auto taken = [&] {
        const auto same = [&](const auto& named) { return named.name == name; };
        return std::any_of(kernel.dims.begin(), kernel.dims.end(), same) ||
               std::any_of(kernel.params.begin(), kernel.params.end(), same) ||
               std::any_of(kernel.outputs.begin(), kernel.outputs.end(),
                           [&](const Output& output) { return same(output.tensor); });
    };
    while (taken()) name += '_';
    return name;
}

void make_opaque(Kernel& kernel, DimId id) {
    Dim& dim = kernel.dims[index(id)];
    const auto factors = std::exchange(dim.factors, {});
    if (dim.name.find('*') != std::string::npos) dim.name = unused_identifier(kernel, dim.name);
    if (factors.size() < 2) return;  // an alias N = D: longer dimensions have D as a factor, not N
    for (Dim& other : kernel.dims) {
        const auto run =
            std::search(other.factors.begin(), other.factors.end(), factors.begin(), factors.end());
        if (run == other.factors.end()) continue;
        *run = id;
        other.factors.erase(run + 1, run + std::ssize(factors));
    }
}

void make_unknown_opaque(Kernel& kernel) {
    while (const auto found = dim_with_unknown_factors(kernel)) make_opaque(kernel, *found);
}

// The dimension with the fewest factors that shares one of them with another of `dims`.
std::optional<DimId> dim_sharing_a_factor(const Kernel& kernel, const std::vector<DimId>& dims) {
    const auto all = kernel.factors(dims);
    std::optional<DimId> found;
    for (const DimId dim : dims) {
        const auto& factors = kernel[dim].factors;
        const bool shares = std::any_of(factors.begin(), factors.end(), [&](DimId factor) {
            return std::count(all.begin(), all.end(), factor) > 1;
        });
        if (shares && (!found || factors.size() < kernel[*found].factors.size())) found = dim;
    }
    return found;
}

// Whether every expression still has a type, over dimensions whose extents are computable.
bool is_well_formed(const Kernel& kernel) {
    const auto known = computable_dims(kernel);
    const auto is_known = [&](DimId dim) { return bool{known[index(dim)]}; };
    return std::all_of(kernel.exprs.begin(), kernel.exprs.end(), [&](const Expr& expr) {
        bool all_known = true;
        for_each_dim(expr.node, [&](DimId dim) { all_known = all_known && is_known(dim); });
        return all_known && std::holds_alternative<Type>(type_of(kernel, expr.node, expr.type)) &&
               std::all_of(expr.type.dims.begin(), expr.type.dims.end(), is_known);
    });
}

// The dimensions that values have, or that nodes name.
std::vector<bool> dims_in_use(const Kernel& kernel) {
    std::vector<bool> used(kernel.dims.size());
    const auto add = [&](DimId dim) { used[index(dim)] = true; };
    for (const Expr& expr : kernel.exprs) {
        std::ranges::for_each(expr.type.dims, add);
        for_each_dim(expr.node, add);
    }
    for (const Tensor& param : kernel.params) std::ranges::for_each(param.type.dims, add);
    for (const Output& output : kernel.outputs) std::ranges::for_each(output.tensor.type.dims, add);
    return used;
}

// A dimension of places of windows and more, of which the kernel needs nothing separately: once the
// results of a transposed convolution are joined, their phases are of no interest.
std::optional<DimId> joined_places(const Kernel& kernel) {
    const auto used = dims_in_use(kernel);
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        const auto& factors = kernel.dims[d].factors;
        const auto is_apart = [&](DimId factor) {
            if (used[index(factor)]) return true;
            for (std::size_t other = 0; other < used.size(); ++other)
                if (other != d && used[other] &&
                    std::ranges::count(kernel.dims[other].factors, factor) > 0)
                    return true;
            return false;
        };
        if (used[d] && factors.size() > 1 && std::ranges::none_of(factors, is_apart) &&
            std::ranges::any_of(factors, [&](DimId dim) { return kernel[dim].window.has_value(); }))
            return static_cast<DimId>(d);
    }
    return std::nullopt;
}

}  // namespace

bool repeats_factors(const Kernel& kernel, const std::vector<DimId>& dims) {
    auto all = kernel.factors(dims);
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) != all.end();
}

void make_opaque(Kernel& kernel) {
    make_unknown_opaque(kernel);
    while (const auto found = joined_places(kernel)) make_opaque(kernel, *found);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        while (repeats_factors(kernel, kernel.exprs[i].type.dims)) {
            const auto found = dim_sharing_a_factor(kernel, kernel.exprs[i].type.dims);
            if (!found) break;
            Kernel changed = kernel;
            make_opaque(changed, *found);
            make_unknown_opaque(changed);
            if (!is_well_formed(changed)) break;
            kernel = std::move(changed);
        }
    }
}

}  // namespace fact::ir
