// A product's first operand that is windows of images: a convolution.
#pragma once

#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The images are a tensor [image, places' dimensions..., channel]. The operand's rows are places,
// image by image unless images are a batch dimension; its columns are taps, then channels.
struct WindowOperand {
    ir::ExprId images{};            // the value that the windows look at
    std::vector<ir::DimId> places;  // the innermost dimension first
    int image = -1;                 // the index of its dimension; -1: there is one image only
    bool operator==(const WindowOperand&) const = default;
};

// nullopt if the value is something else, or in another order.
std::optional<WindowOperand> window_operand(const ir::Kernel& kernel, ir::ExprId operand);

}  // namespace fact::lower
