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
    std::string arch;                        // what the record says the cubin is for
    std::vector<std::int64_t> extents = {};  // of dimensions; missing: not known
    // Bytes that divide the start and every stride of each parameter and output; missing: 16.
    std::vector<int> alignment = {};
};

// Rows that lie in one piece, are not too long and of a length that is known are kept in registers:
// the kernel is then for that length alone. Others are read as often as they are reduced.
Result<Lowered> lower_rows(const ir::Kernel& kernel, const RowsFacts& facts);

}  // namespace fact::lower
