// The extents of a kernel's dimensions, expressed by the sizes of the tensors that a call binds.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "target/launch_record.h"

namespace fact::lower {

void multiply(ExtentField& extent, const ExtentField& factor);
ExtentField inverse(const ExtentField& extent);  // 1 / extent
// ceil((extent * times + more) / step). Throws InternalError if the extent is a product of several.
ExtentField windows_of(const ExtentField& extent, int more, int step, int times = 1);

// Finds the tensors of one kernel that supply the extent of each of its dimensions.
class ExtentTerms {
  public:
    explicit ExtentTerms(const ir::Kernel& kernel);

    // Where the dimension occurs among the tensors: parameters, then outputs.
    const std::vector<DimOf>& places(ir::DimId dim) const { return places_[ir::index(dim)]; }
    // The dimension's extent. Throws InternalError if no tensor supplies it, which the IR's
    // verifier rules out.
    ExtentField extent(ir::DimId dim) const;
    // What must hold for the extent of a constant or factored dimension that some tensor has;
    // nullopt if the tensors of a stage supply this extent, but not those of its factors.
    std::optional<ExtentRule> rule(ir::DimId dim) const;

  private:
    bool known(ir::DimId dim) const {
        const auto& [name, constant, factors, window] = kernel_[dim];
        return constant || !places(dim).empty() || derived_from_[ir::index(dim)] ||
               (window && known(window->of)) ||
               (!factors.empty() &&
                std::ranges::all_of(factors, [&](ir::DimId factor) { return known(factor); }));
    }
    ExtentField places_of_windows(const ir::WindowRule& rule) const;

    const ir::Kernel& kernel_;
    std::vector<std::vector<DimOf>> places_;
    // For a factor that no tensor has: the factored dimension that its extent is computed from.
    std::vector<std::optional<ir::DimId>> derived_from_;
};

// The product of the dimensions' extents.
ExtentField extent_of(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims);

}  // namespace fact::lower
