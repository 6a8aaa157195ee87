#include "lower/record/extent_terms.h"

#include <algorithm>
#include <limits>

#include "ir/extents.h"
#include "support/result.h"

namespace fact::lower {

namespace {

// Removes the dimensions that the extent is both multiplied and divided by.
void cancel(ExtentField& extent) {
    std::erase_if(extent.divisor_dims, [&](const DimOf& dim) {
        const auto same = std::find(extent.dims.begin(), extent.dims.end(), dim);
        if (same == extent.dims.end()) return false;
        extent.dims.erase(same);
        return true;
    });
}

}  // namespace

void multiply(ExtentField& extent, const ExtentField& factor) {
    extent.dims.insert(extent.dims.end(), factor.dims.begin(), factor.dims.end());
    extent.divisor_dims.insert(extent.divisor_dims.end(), factor.divisor_dims.begin(),
                               factor.divisor_dims.end());
    extent.factor *= factor.factor;
    extent.divisor *= factor.divisor;
    cancel(extent);
}

ExtentField inverse(const ExtentField& extent) {
    return {extent.divisor_dims, extent.divisor, extent.factor, extent.dims};
}

ExtentField windows_of(const ExtentField& extent, int more, int step, int times) {
    ExtentField result = extent;
    result.factor *= times;
    if (more == 0 && step == 1) return result;
    if (extent.dims.empty() && extent.divisor_dims.empty()) {
        result.factor = static_cast<int>(DimOf{0, 0, more, step}.of(result.factor));
    } else if (extent.divisor == 1 && extent.divisor_dims.empty() && extent.dims.size() == 1 &&
               (result.factor == 1 || extent.dims[0].step == 1)) {
        DimOf& dim = result.dims[0];
        dim.times *= result.factor;
        dim.more *= result.factor;
        result.factor = 1;
        // ceil((ceil((x + a) / b) + c) / d) is ceil((x + a + b * c) / (b * d)).
        dim.more += dim.step * more;
        dim.step *= step;
    } else {
        throw InternalError("windows over a product of extents");
    }
    return result;
}

ExtentTerms::ExtentTerms(const ir::Kernel& kernel)
    : kernel_(kernel), places_(kernel.dims.size()), derived_from_(kernel.dims.size()) {
    int number = 0;
    const auto note = [&](const ir::Tensor& tensor) {
        for (std::size_t i = 0; i < tensor.type.dims.size(); ++i)
            places_[ir::index(tensor.type.dims[i])].push_back({number, static_cast<int>(i)});
        ++number;
    };
    for (const ir::Tensor& param : kernel.params) note(param);
    for (const ir::Output& output : kernel.outputs) note(output.tensor);

    // A tensor's dimension supplies the extent of its only factor that is not known yet.
    for (bool found_another = true; found_another;) {
        found_another = false;
        for (std::size_t d = 0; d < kernel.dims.size(); ++d) {
            if (places_[d].empty()) continue;
            std::vector<ir::DimId> missing;
            for (const ir::DimId factor : kernel.dims[d].factors)
                if (!known(factor)) missing.push_back(factor);
            if (missing.size() != 1) continue;
            derived_from_[ir::index(missing[0])] = static_cast<ir::DimId>(d);
            found_another = true;
        }
    }
}

ExtentField ExtentTerms::extent(ir::DimId dim) const {
    const ir::Dim& declared = kernel_[dim];
    if (declared.extent) return {{}, static_cast<int>(*declared.extent)};
    if (!places(dim).empty()) return {{places(dim).front()}};
    if (declared.window && known(declared.window->of)) return places_of_windows(*declared.window);
    ExtentField result;
    if (const auto factored = derived_from_[ir::index(dim)]) {
        result.dims = {places(*factored).front()};
        for (const ir::DimId factor : kernel_[*factored].factors)
            if (factor != dim) multiply(result, inverse(extent(factor)));
        return result;
    }
    if (declared.factors.empty())
        throw InternalError("no tensor has the extent of " + declared.name);
    for (const ir::DimId factor : declared.factors) multiply(result, extent(factor));
    return result;
}

ExtentField ExtentTerms::places_of_windows(const ir::WindowRule& rule) const {
    const auto length = rule.dilation * (*ir::constant_extent(kernel_, rule.taps) - 1) + 1;
    return windows_of(extent(rule.of), static_cast<int>(rule.before + rule.after - length + 1),
                      static_cast<int>(rule.stride));
}

std::optional<ExtentRule> ExtentTerms::rule(ir::DimId dim) const {
    ExtentRule rule{{{places(dim).front()}}, {}};
    if (const auto& window = kernel_[dim].window) {
        if (!known(window->of)) return std::nullopt;
        rule.extent = places_of_windows(*window);
        return rule;
    }
    for (const ir::DimId factor : kernel_.factors({dim})) {
        if (!known(factor)) return std::nullopt;
        if (derived_from_[ir::index(factor)] == dim)
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
        ExtentField factor = terms.extent(dim);
        // If the product of constants overflows an int, use a tensor's extent along `dim` instead.
        constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
        if (std::int64_t{field.factor} * factor.factor > kMaxInt && !terms.places(dim).empty())
            factor = {{terms.places(dim).front()}};
        multiply(field, factor);
    }
    return field;
}

}  // namespace fact::lower
