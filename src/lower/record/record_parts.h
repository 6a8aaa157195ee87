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

}  // namespace fact::lower
