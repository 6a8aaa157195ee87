// Convolutions whose weights have one tap along a dimension, such as 1x7: their windows can be read
// like any others.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel with products summed over single taps too, where a text takes these away first
// (`max(x.window(...), over: S)`, with S = 1), because weights have no such dimension.
ir::Kernel with_single_taps(const ir::Kernel& kernel);

}  // namespace fact::lower
