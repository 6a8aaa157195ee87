// What every lowering writes into a launch record the same way.
#pragma once

#include "ir/kernel.h"
#include "target/launch_record.h"

namespace fact::lower {

// Appends members of a plain struct at their natural alignment.
class StructBuilder {
  public:
    void add(const Field& field);
    StructParam finish();

  private:
    StructParam param_;
    int offset_ = 0, alignment_ = 4;
};

// The kernel's parameters and outputs, and what must hold between their extents.
void bind_tensors(const ir::Kernel& kernel, LaunchRecord& record);

// The product of the dimensions' extents in terms of the bound tensors' (parameters, then outputs).
// Throws InternalError when no tensor tells one of them: the IR's verifier asks that some does.
ExtentField extent_of(const ir::Kernel& kernel, const std::vector<ir::DimId>& dims);

}  // namespace fact::lower
