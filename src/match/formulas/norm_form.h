// The parts of a norm, recognised in the kernel that computes it, however the module spells it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// A row x becomes (x - mean) * rsqrt(variance + eps) * gains + shift if `centered`, else
// x * rsqrt(mean of squares + eps) * gains + shift.
struct NormForm {
    std::uint32_t x = 0;  // the parameter that is normalised
    bool centered = false;
    double eps = 0;
    // Numbers or vectors as long as a row, computed from parameters and literals by arithmetic,
    // casts between floating types and permutes.
    std::vector<ir::ExprId> gains;
    std::optional<ir::ExprId> shift;
};

// nullopt if the kernel computes anything else.
std::optional<NormForm> read_norm_form(const ir::Kernel& kernel);

}  // namespace fact::match
