// Convolutions of images with few channels: fewer than fill a line of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, with products of windows that have few channels reading them as rows that
// overlap in memory (WindowOperand::run), without a copy of the windows. Stages before store
// - the images channels last, with what windows see outside of them, and zeros so that a pixel is a
//   divisor of a line and the taps along the innermost dimension are whole lines;
// - the weights with as many zeros.
// Channels whose number was only known in `extents` become constants. The kernel itself if it has
// no such product.
ir::Kernel with_few_channels(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents);

}  // namespace fact::lower
