// Which layouts of its tensors the compiled kernel of a call accepts, asked before it is launched.
#pragma once

#include <functional>
#include <string>

#include "graph/fused.h"
#include "graph/graph.h"
#include "target/launch_record.h"

namespace fact::driver {

// Why the launcher would refuse a call of this kernel; "" if it would not. `type`: the layout of
// the call's input or result with this name.
std::string refused_by_launcher(
    const graph::FusedCall& call, const LaunchRecord& record,
    const std::function<const graph::TensorType&(const std::string& value)>& type);

}  // namespace fact::driver
