// A kernel text that asks for TF32 where torch turns out not to use it: eager may compute in f32
// what it is allowed to round, as cuDNN has not every convolution in TF32. Then the oracle measures
// kernels by f32's error, and none in TF32 can pass.
#pragma once

#include <optional>
#include <string>

#include "tune/realization.h"

namespace fact::tune {

// The text with products and attention as accurate as f32; nullopt if it asks for no TF32.
std::optional<std::string> exact_text(const std::string& text);

// Whether every candidate that ran had wrong results, and at least one ran.
bool all_wrong(const Realization& r);

}  // namespace fact::tune
