// What a norm consists of, read off the kernel that computes it, however its model spelled it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// A row x becomes (x - mean) * rsqrt(variance + eps) * gains + shift, where `centered`; else
// x * rsqrt(mean of squares + eps) * gains + shift.
struct NormForm {
    std::uint32_t x = 0;  // the parameter that is normalised
    bool centered = false;
    double eps = 0;
    // Numbers or vectors as long as a row: arithmetic on parameters and literals, with casts
    // between floating types and reorderings in between, which say nothing.
    std::vector<ir::ExprId> gains;
    std::optional<ir::ExprId> shift;
};

// Nothing where the kernel computes something else, or more than that.
std::optional<NormForm> read_norm_form(const ir::Kernel& kernel);

}  // namespace fact::match
