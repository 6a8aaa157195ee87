// Which layouts of its tensors the compiled kernel of a call accepts, asked before it is launched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compose/in_place.h"
#include "driver/realize.h"
#include "graph/fused.h"
#include "graph/graph.h"
#include "target/launch_record.h"

namespace fact::driver {

// Why the launcher would refuse a call of this kernel; "" if it would not. `type`: the layout of
// the call's input or result with this name.
std::string refused_by_launcher(
    const graph::FusedCall& call, const LaunchRecord& record,
    const std::function<const graph::TensorType&(const std::string& value)>& type);

// Why a kernel of these calls cannot be launched with layouts that are not as traced: what its
// launcher says, and a CUDA file takes none of them. Both arguments must outlive the result.
compose::Refusal launchers(const std::vector<graph::FusedCall>& calls,
                           const Realizations& realizations);

}  // namespace fact::driver
