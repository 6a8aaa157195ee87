// The passes over a whole kernel before it is cut into stages.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"
#include "lower/pipeline/lower.h"

namespace fact::lower {

// Lowers attention for the first skeleton that can compute it. One with TMA is preferred, but can
// address fewer batch dimensions than one with plain pointers.
Result<Lowered> attention(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                          const LowerOptions& options);
// The extents that may be constants in a kernel.
std::vector<std::int64_t> known_extents(const ir::Kernel& kernel, const LowerOptions& options);
// Whether some skeleton reads windows as an operand of a product.
bool reads_windows(const LowerOptions& options);

// Convolutions of few terms become sums: those that threads add up, or also those that are meant to
// be products of patches (lower/rows/patches.h).
enum class FewTerms { sums, patches };
// Expands every attention that no skeleton can compute, takes apart convolutions of few terms,
// transposes products whose second operand would be copied in every call, and gives convolutions
// in TF32 f16 numbers.
ir::Kernel expanded(ir::Kernel kernel, const LowerOptions& options, FewTerms few_terms);

}  // namespace fact::lower
