// The extents of a kernel's dimensions in terms of the tensors a call binds.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"
#include "target/launch_record.h"

namespace fact::lower {

void multiply(ExtentField& by, const ExtentField& more);
ExtentField inverse(const ExtentField& extent);

class ExtentTerms {
  public:
    explicit ExtentTerms(const ir::Kernel& kernel);

    // Where the dimension stands among the tensors: parameters, then outputs.
    const std::vector<DimOf>& places(ir::DimId dim) const { return places_[ir::index(dim)]; }
    // Its extent. Throws InternalError when no tensor tells it: the IR's verifier asks that some
    // does.
    ExtentField extent(ir::DimId dim) const;
    // What must hold of a constant or a product that some tensor has; nothing where a stage knows
    // the product but not its factors.
    std::optional<ExtentRule> rule(ir::DimId dim) const;

  private:
    bool known(ir::DimId dim) const {
        return kernel_[dim].extent || !places(dim).empty() || told_by_[ir::index(dim)];
    }

    const ir::Kernel& kernel_;
    std::vector<std::vector<DimOf>> places_;
    // Of a factor that no tensor has: the product its extent follows from.
    std::vector<std::optional<ir::DimId>> told_by_;
};

// The product of the dimensions' extents.
ExtentField extent_of(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims);

}  // namespace fact::lower
