#include "ir/opaque_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/extents.h"
#include "ir/typing.h"

namespace fact::ir {
namespace {

std::vector<bool> told(const Kernel& kernel) {
    std::vector<bool> given(kernel.dims.size());
    for (const Tensor& param : kernel.params)
        for (const DimId dim : param.type.dims) given[index(dim)] = true;
    for (const Output& output : kernel.outputs)
        for (const DimId dim : output.tensor.type.dims) given[index(dim)] = true;
    return known_dims(kernel, std::move(given));
}

// The one with the fewest factors comes first, so that larger ones can be told by it.
std::optional<DimId> unknown_product(const Kernel& kernel) {
    const auto known = told(kernel);
    std::optional<DimId> found;
    for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
        const auto& factors = kernel.dims[d].factors;
        const bool apart = std::all_of(factors.begin(), factors.end(),
                                       [&](DimId factor) { return bool{known[index(factor)]}; });
        if (apart || !known[d]) continue;
        if (!found || factors.size() < kernel[*found].factors.size()) found = static_cast<DimId>(d);
    }
    return found;
}

// "H*W" is not a name of one dimension.
std::string own_name(const Kernel& kernel, std::string name) {
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

void close(Kernel& kernel, DimId id) {
    Dim& dim = kernel.dims[index(id)];
    const auto factors = std::exchange(dim.factors, {});
    if (dim.name.find('*') != std::string::npos) dim.name = own_name(kernel, dim.name);
    if (factors.size() < 2) return;  // another name is no part of a product
    for (Dim& other : kernel.dims) {
        const auto run =
            std::search(other.factors.begin(), other.factors.end(), factors.begin(), factors.end());
        if (run == other.factors.end()) continue;
        *run = id;
        other.factors.erase(run + 1, run + std::ssize(factors));
    }
}

void close_unknown(Kernel& kernel) {
    while (const auto found = unknown_product(kernel)) close(kernel, *found);
}

// A product of the dimensions that shares a factor with another of them; the smallest.
std::optional<DimId> sharing_product(const Kernel& kernel, const std::vector<DimId>& dims) {
    const auto all = kernel.factors(dims);
    std::optional<DimId> found;
    for (const DimId dim : dims) {
        const auto& own = kernel[dim].factors;
        const bool shares = std::any_of(own.begin(), own.end(), [&](DimId factor) {
            return std::count(all.begin(), all.end(), factor) > 1;
        });
        if (shares && (!found || own.size() < kernel[*found].factors.size())) found = dim;
    }
    return found;
}

// Whether all is as well-formed as before.
bool still_fits(const Kernel& kernel) {
    const auto known = told(kernel);
    const auto is_told = [&](DimId dim) { return bool{known[index(dim)]}; };
    return std::all_of(kernel.exprs.begin(), kernel.exprs.end(), [&](const Expr& expr) {
        bool all_told = true;
        for_each_dim(expr.node, [&](DimId dim) { all_told = all_told && is_told(dim); });
        return all_told && std::holds_alternative<Type>(type_of(kernel, expr.node, expr.type)) &&
               std::all_of(expr.type.dims.begin(), expr.type.dims.end(), is_told);
    });
}

}  // namespace

bool repeats_factors(const Kernel& kernel, const std::vector<DimId>& dims) {
    auto all = kernel.factors(dims);
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) != all.end();
}

void make_opaque(Kernel& kernel) {
    close_unknown(kernel);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        while (repeats_factors(kernel, kernel.exprs[i].type.dims)) {
            const auto found = sharing_product(kernel, kernel.exprs[i].type.dims);
            if (!found) break;
            Kernel closed = kernel;
            close(closed, *found);
            close_unknown(closed);
            if (!still_fits(closed)) break;
            kernel = std::move(closed);
        }
    }
}

}  // namespace fact::ir
