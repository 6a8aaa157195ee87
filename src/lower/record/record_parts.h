// The parts of launch records that all lowerings share.
#pragma once

#include <string_view>

#include "ir/kernel.h"
#include "target/arch.h"
#include "target/launch_record.h"

namespace fact::lower {

// Appends members of a plain struct at their natural alignment.
class StructBuilder {
  public:
    void add(const Field& field);
    StructParam finish();

  private:
    StructParam param_;
    int offset_ = 0, alignment_ = 4;  // in bytes; 4: no field is smaller
};

// Adds to the record the kernel's parameters and outputs, and what must hold between their extents.
void bind_tensors(const ir::Kernel& kernel, LaunchRecord& record);

// Whether thread blocks on this GPU can be clusters, which share their memories.
inline bool has_clusters(std::string_view arch) {
    const Arch* known = find_arch(arch);
    return known && known->clusters;
}

// Whether kernels on this GPU may start before the previous one has ended.
inline bool can_start_early(std::string_view arch) {
    const Arch* known = find_arch(arch);
    return known && known->early_start;
}

}  // namespace fact::lower
