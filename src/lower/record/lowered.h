// What every lowering ends in.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"
#include "target/launch_record.h"

namespace fact::lower {

// An extent that the text says as a number, though the kernel does not.
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
