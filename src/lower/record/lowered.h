// What every lowering ends in.
#pragma once

#include <string>

#include "target/launch_record.h"

namespace fact::lower {

struct Lowered {
    std::string source;  // one CUDA translation unit
    LaunchRecord record;
};

}  // namespace fact::lower
