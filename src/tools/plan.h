// How a kernel runs: the kernels it is cut into, and what a schedule has to know of each product.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/pipeline/cut.h"
#include "schedule/skeletons.h"
#include "support/result.h"
#include "tools/extents.h"

namespace fact::tools {

struct PlannedProduct {
    std::string name;       // in the text; "" when it has none
    std::size_t stage = 0;  // which kernel of the plan computes it
    Skeleton skeleton{};
    schedule::Problem problem;
};

// "acc", or "the product of kernel 2".
std::string title(const PlannedProduct& product);

struct PlannedStage {
    lower::StageKind kind{};
    ir::Kernel kernel;
    std::vector<std::string> reads, writes;  // its tensors as the whole kernel calls them
    std::vector<std::string> finds;          // of those it reads: statistics that it finds itself
    std::optional<PlannedProduct> product;
};

struct Plan {
    std::vector<PlannedStage> stages;  // in the order they run
    std::vector<std::string> kept;     // the values in memory between them
    std::vector<std::string> cuts;     // a sentence for each, why
    Extents extents;                   // of the stages' dimensions
};

using Schedules = std::map<std::string, schedule::Schedule>;  // by the product's name
// As lower::LowerOptions asks for them.
std::function<const schedule::Schedule*(const std::string& product)> among(
    const Schedules& schedules);

// An Error names what no skeleton can compute. `tma`: whether those that need tensor maps are
// wanted. Products that `schedules` does not name are planned with the most promising one.
Result<Plan> plan_stages(const ir::Kernel& kernel, std::string_view arch, const Extents& extents,
                         bool tma = true, const Schedules& schedules = {});

}  // namespace fact::tools
