// From a kernel that is one attention to CUDA source with kernels/sm80/attention.cuh. It runs on
// any GPU from sm80 on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "lower/record/lowered.h"
#include "support/result.h"

namespace fact::lower::sm80 {

// `extents`: of the kernel's dimensions by id; those of the features must be known. `arch`: the GPU
// that the cubin is compiled for. An Error says what the skeleton cannot express; then attention is
// expanded into products and a softmax.
Result<Lowered> lower_attention(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                                std::string_view arch);

}  // namespace fact::lower::sm80
