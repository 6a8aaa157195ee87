// Recognises activations that a module spells out with arithmetic.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// Replaces the tanh and erf forms of GELU and x * sigmoid(x), however they are associated, by
// gelu_tanh, gelu and silu. `tags` holds each expression's part in the kernel's name; those of
// replaced expressions are updated. Constants may be off by 1e-4 of their value: people write
// 0.79788 for sqrt(2 / pi).
void recognise_activations(ir::Kernel& kernel, std::vector<std::string>& tags);

}  // namespace fact::match
