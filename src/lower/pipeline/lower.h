// From a checked kernel of any shape to one CUDA file and one launch record.
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
    std::string arch{kUsualArch};  // the GPU the cubin is for
    // Extents of the whole kernel's dimensions by their ids, as far as they are known: they decide
    // between skeletons and schedules. Empty: nothing is known.
    std::vector<std::int64_t> extents;
    // Which of them are guesses, good enough to choose by but not to write a kernel for; missing:
    // none.
    std::vector<bool> assumed = {};
    // Bytes that divide the start and every stride of each parameter and output; missing: 16.
    std::vector<int> alignment = {};
    // The schedule of the product the text calls so, where the caller wants a certain one.
    std::function<const schedule::Schedule*(const std::string& product)> schedule;
    bool tma = true;  // false: only skeletons that need no tensor maps
    // Sees the kernel as each pass (of kPasses) leaves it.
    std::function<void(std::string_view pass, const std::string& dump)> after = {};
};

// checked: as it came; expanded: attention written out where no skeleton holds it; cut: one kernel
// for each stage.
inline constexpr std::array<std::string_view, 3> kPasses{"checked", "expanded", "cut"};

// An Error names what no skeleton can compute, or why a schedule is not legal.
Result<Lowered> lower(const ir::Kernel& kernel, const LowerOptions& options);

// The kernels it is compiled as.
Result<Pipeline> stages(const ir::Kernel& kernel, const LowerOptions& options);

// How its products would be computed, in the order of the stages.
Result<std::vector<ProductPlan>> plan_products(const ir::Kernel& kernel,
                                               const LowerOptions& options);

}  // namespace fact::lower
