// From any checked kernel to one CUDA file and one launch record.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/pipeline/link.h"
#include "lower/pipeline/plan.h"
#include "target/arch.h"

namespace fact::lower {

struct LowerOptions {
    std::string arch{kDefaultArch};  // the GPU the cubin is for
    // Extents of the kernel's dimensions by id, as far as they are known, for choosing skeletons
    // and schedules. Empty: nothing is known.
    std::vector<std::int64_t> extents;
    // Which extents are guesses: good enough for choosing, but not to be constants in a kernel.
    // Empty: none are.
    std::vector<bool> assumed = {};
    // Alignment in bytes of each parameter, then of each output: it divides the tensor's address
    // and all its strides except a stride of one element. 16 for entries beyond the end.
    std::vector<int> alignment = {};
    // The schedule for the product of that name, or nullptr to let it be chosen.
    std::function<const schedule::Schedule*(const std::string& product)> schedule;
    bool tma = true;  // false: only skeletons that need no tensor maps
    // Called after each pass (of kPasses) with a dump of the kernel.
    std::function<void(std::string_view pass, const std::string& dump)> after = {};
};

// checked: the input; expanded: attention expanded if no skeleton can compute it; cut: one kernel
// per stage.
inline constexpr std::array<std::string_view, 3> kPasses{"checked", "expanded", "cut"};

// An Error names what no skeleton can compute, or why a schedule is not legal.
Result<Lowered> lower(const ir::Kernel& kernel, const LowerOptions& options);

// The stages that the kernel is cut into.
Result<Pipeline> stages(const ir::Kernel& kernel, const LowerOptions& options);

// How the kernel's products would be computed, in the order of the stages.
Result<std::vector<ProductPlan>> plan_products(const ir::Kernel& kernel,
                                               const LowerOptions& options);

}  // namespace fact::lower
