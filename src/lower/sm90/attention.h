// From a kernel that is one attention to CUDA source with kernels/sm90/attention.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/sm90/lower.h"

namespace fact::lower::sm90 {

// `extents`: of the kernel's dimensions by id; those of the features must be known. An Error says
// what the skeleton cannot express; then attention is expanded into products and a softmax.
Result<Lowered> lower_attention(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents);

}  // namespace fact::lower::sm90
