// What a kernel computes, one operation per line, in the order of the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/extents.h"

namespace fact::tools {

// "acc = x @ w.T", "gelu_tanh(#2): x/2 (1 + tanh(...))": a step without a name is referred to by
// its number. `text` is what the kernel was compiled from.
std::vector<std::string> computed_steps(const ir::Kernel& kernel, const Extents& extents,
                                        std::string_view text);

}  // namespace fact::tools
