// The result of every lowering.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"
#include "target/launch_record.h"

namespace fact::lower {

// An extent that is a number in the emitted source, though a symbol in the kernel: the source
// serves only this extent.
struct FixedExtent {
    ir::DimId dim{};
    std::int64_t extent = 0;
};

struct Lowered {
    std::string source;  // one CUDA translation unit
    LaunchRecord record;
    std::vector<FixedExtent> fixed = {};
};

}  // namespace fact::lower
