// How a kernel runs: the kernels it is cut into, and the scheduling problem of each product.
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
    std::string name;       // in the text; "" if it has none
    std::size_t stage = 0;  // which kernel of the plan computes it
    Skeleton skeleton{};
    schedule::Problem problem;
};

// "acc", or "the product of kernel 2".
std::string title(const PlannedProduct& product);

struct PlannedStage {
    lower::StageKind kind{};
    ir::Kernel kernel;
    std::vector<std::string> reads, writes;  // its tensors, by their names in the whole kernel
    std::vector<std::string> finds;  // those of `reads` that are statistics it computes itself
    std::optional<PlannedProduct> product;
};

struct Plan {
    std::vector<PlannedStage> stages;  // in the order they run
    std::vector<std::string> kept;     // the intermediates in memory between the stages
    std::vector<std::string> cuts;     // the reason for each cut, one sentence each
    Extents extents;                   // of the stages' dimensions
};

using Schedules = std::map<std::string, schedule::Schedule>;  // by the product's name
// The lookup function that lower::LowerOptions needs.
std::function<const schedule::Schedule*(const std::string& product)> schedule_lookup(
    const Schedules& schedules);

// An Error names what no skeleton can compute. `tma`: whether skeletons that need tensor maps may
// be used. Products that `schedules` does not name get the most promising schedule.
Result<Plan> plan_stages(const ir::Kernel& kernel, std::string_view arch, const Extents& extents,
                         bool tma = true, const Schedules& schedules = {});

}  // namespace fact::tools
