#include "lower/record/extent_terms.h"

#include <algorithm>
#include <limits>

#include "support/result.h"

namespace fact::lower {

namespace {

// Takes out what is both multiplied and divided by.
void cancel(ExtentField& extent) {
    std::erase_if(extent.divided, [&](const DimOf& dim) {
        const auto same = std::find(extent.dims.begin(), extent.dims.end(), dim);
        if (same == extent.dims.end()) return false;
        extent.dims.erase(same);
        return true;
    });
}

}  // namespace

void multiply(ExtentField& by, const ExtentField& more) {
    by.dims.insert(by.dims.end(), more.dims.begin(), more.dims.end());
    by.divided.insert(by.divided.end(), more.divided.begin(), more.divided.end());
    by.times *= more.times;
    by.over *= more.over;
    cancel(by);
}

ExtentField inverse(const ExtentField& extent) {
    return {extent.divided, extent.over, extent.times, extent.dims};
}

ExtentTerms::ExtentTerms(const ir::Kernel& kernel)
    : kernel_(kernel), places_(kernel.dims.size()), told_by_(kernel.dims.size()) {
    int number = 0;
    const auto note = [&](const ir::Tensor& tensor) {
        for (std::size_t i = 0; i < tensor.type.dims.size(); ++i)
            places_[ir::index(tensor.type.dims[i])].push_back({number, static_cast<int>(i)});
        ++number;
    };
    for (const ir::Tensor& param : kernel.params) note(param);
    for (const ir::Output& output : kernel.outputs) note(output.tensor);

    for (bool learned = true; learned;) {
        learned = false;
        for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
            if (places_[d].empty()) continue;
            std::vector<ir::DimId> missing;
            for (const ir::DimId factor : kernel.dims[d].factors)
                if (!known(factor)) missing.push_back(factor);
            if (missing.size() != 1) continue;
            told_by_[ir::index(missing[0])] = static_cast<ir::DimId>(d);
            learned = true;
        }
    }
}

ExtentField ExtentTerms::extent(ir::DimId dim) const {
    const ir::Dim& own = kernel_[dim];
    if (own.extent) return {{}, static_cast<int>(*own.extent)};
    if (!places(dim).empty()) return {{places(dim).front()}};
    ExtentField result;
    if (const auto whole = told_by_[ir::index(dim)]) {
        result.dims = {places(*whole).front()};
        for (const ir::DimId factor : kernel_[*whole].factors)
            if (factor != dim) multiply(result, inverse(extent(factor)));
        return result;
    }
    if (own.factors.empty()) throw InternalError("no tensor tells the extent of " + own.name);
    for (const ir::DimId factor : own.factors) multiply(result, extent(factor));
    return result;
}

std::optional<ExtentRule> ExtentTerms::rule(ir::DimId dim) const {
    ExtentRule rule{{{places(dim).front()}}, {}};
    for (const ir::DimId factor : kernel_.factors({dim})) {
        if (!known(factor)) return std::nullopt;
        if (told_by_[ir::index(factor)] == dim)
            rule.multiple = true;
        else
            multiply(rule.extent, extent(factor));
    }
    return rule;
}

ExtentField extent_of(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims) {
    const ExtentTerms terms(kernel);
    ExtentField field;
    for (const ir::DimId dim : dims) {
        ExtentField one = terms.extent(dim);
        // Constants of several dimensions may be too many for one number: then tensors tell.
        constexpr std::int64_t kMost = std::numeric_limits<int>::max();
        if (std::int64_t{field.times} * one.times > kMost && !terms.places(dim).empty())
            one = {{terms.places(dim).front()}};
        multiply(field, one);
    }
    return field;
}

}  // namespace fact::lower
