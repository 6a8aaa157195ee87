// From a kernel without a product to CUDA text and its launch record: the same for every GPU.
#pragma once

#include <string_view>

#include "ir/kernel.h"
#include "lower/record/lowered.h"
#include "support/result.h"

namespace fact::lower {

// `arch`: what the record says the cubin is for.
Result<Lowered> lower_rows(const ir::Kernel& kernel, std::string_view arch);

}  // namespace fact::lower
