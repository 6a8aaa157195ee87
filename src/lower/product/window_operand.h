// An operand of a product that is windows of images: a convolution.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The images are a tensor [image, places' dimensions..., channel]. Along M (or N) the operand has
// places, image by image unless images are a batch dimension; along K it has taps, then channels.
struct WindowOperand {
    ir::ExprId images{};            // the value that the windows look at
    std::vector<ir::DimId> places;  // the innermost dimension first
    int image = -1;                 // the index of its dimension; -1: there is one image only
    // If not 0, rows overlap in memory: each holds this many neighbours of the images for every tap
    // of the other dimensions, and the next place's row begins one pixel later.
    std::int64_t run = 0;
    bool operator==(const WindowOperand&) const = default;
};

// What one copy of TMA moves of a row, in its widest swizzle.
inline constexpr std::int64_t kLineBytes = 128;

enum class Side { first, second };  // of a product: [M, K], or [K, N]

// The window behind a view of its permuted dimensions; nullopt for other values.
std::optional<ir::ExprId> window_behind(const ir::Kernel& kernel, ir::ExprId operand);

// The dimensions of what the window looks at, as window_operand() takes them: images first, unless
// there is only one, then those with windows, then channels. nullopt if there are others.
std::optional<std::vector<ir::DimId>> channels_last(const ir::Kernel& kernel,
                                                    const ir::Window& window);

// nullopt if the value is something else, or in another order.
std::optional<WindowOperand> window_operand(const ir::Kernel& kernel, ir::ExprId operand,
                                            Side side);

// The same kernel, with windows that are operands of products looking at images in the order that
// window_operand() takes: what is in another order in memory is permuted, for a stage to store.
ir::Kernel with_channels_last(const ir::Kernel& kernel);

// The same kernel, with operands of products in TF32 rounded to that, for stages to store, where
// the second one is windows: from memory the tensor core would cut their bits off.
ir::Kernel with_tf32_numbers(const ir::Kernel& kernel);

}  // namespace fact::lower
