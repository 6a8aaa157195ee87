// Calls the lowering of a skeleton: the one place that chooses between the folders of src/lower/
// named after architectures.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lower/pipeline/cut.h"
#include "lower/record/lowered.h"
#include "schedule/schedule.h"
#include "support/result.h"
#include "target/arch.h"

namespace fact::lower {

// The skeletons that run on the architecture, the preferred one first; with `tma` also those that
// need tensor maps. Empty if there are no kernels for it.
std::vector<Skeleton> skeletons_of(std::string_view arch, bool tma);

// What a product is compiled for: the GPU, and the alignment in bytes of each tensor of the stage.
struct ProductTarget {
    std::string_view arch;
    const std::vector<int>& alignment;
};

// The problem that a schedule depends on, without extents; an Error says what the skeleton cannot
// express.
Result<schedule::Problem> problem_of(Skeleton skeleton, const ir::Kernel& kernel,
                                     const ProductTarget& target);

Result<Lowered> lower_product(Skeleton skeleton, const Stage& stage,
                              const schedule::Schedule& schedule, const ProductTarget& target);

// Lowers attention for the first of these skeletons that can compute it.
Result<Lowered> lower_attention(const std::vector<Skeleton>& skeletons, const ir::Kernel& kernel,
                                const std::vector<std::int64_t>& extents, std::string_view arch);

}  // namespace fact::lower
