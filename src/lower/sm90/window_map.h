// What a launch needs to read an operand of a product through windows (WindowOperand): the tensor
// map of TMA's im2col mode, and Windows in windows.cuh.
#pragma once

#include <optional>

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "target/launch_record.h"

namespace fact::lower::sm90 {

// The map whose box is as many places as given, with 128 bytes of channels each. nullopt if TMA
// cannot walk such windows.
std::optional<TensorMapParam> window_map(const ir::Kernel& kernel, const OperandForm& operand,
                                         int places);

// What the kernel counts along K: for every tap, channels in whole k-tiles.
ExtentField depth_of_windows(const ir::Kernel& kernel, const OperandForm& operand, int tile_k);

// The kernel's parameter `Windows`.
StructParam windows_param(const ir::Kernel& kernel, const OperandForm& operand);

}  // namespace fact::lower::sm90
