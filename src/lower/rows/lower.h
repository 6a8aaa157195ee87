// From a kernel without a product to CUDA text and its launch record: the same for every GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "lower/record/lowered.h"
#include "support/result.h"

namespace fact::lower {

struct RowsFacts {
    std::string arch;                        // the GPU that the cubin is for
    std::vector<std::int64_t> extents = {};  // by dimension id; missing: not known
    // Alignment in bytes of each parameter, then of each output: it divides the tensor's address
    // and all its strides except a stride of one element. 16 for entries beyond the end.
    std::vector<int> alignment = {};

    // ir::kUnknownExtent if it is neither a constant nor among `extents`.
    std::int64_t known(const ir::Kernel& kernel, ir::DimId dim) const;
};

// Contiguous rows of known length that are not too long are held in registers; the kernel is then
// for that length only. Other rows are read once per reduction.
Result<Lowered> lower_rows(const ir::Kernel& kernel, const RowsFacts& facts);

// Whether that is one of patches of images (patches.h).
bool multiplies_patches(const ir::Kernel& kernel, const RowsFacts& facts);

// Whether rows that are too long to be read again for each reduction, if there are such, are held
// in registers.
bool holds_long_rows(const ir::Kernel& kernel, const RowsFacts& facts);

}  // namespace fact::lower
