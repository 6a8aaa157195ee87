#include "tools/plan.h"

#include <fmt/format.h>

#include "ir/extents.h"
#include "lower/pipeline/lower.h"

namespace fact::tools {
namespace {

Result<PlannedProduct> planned_product(const lower::Stage& stage, std::string_view arch,
                                       const Extents& extents, bool tma) {
    const auto plan = lower::plan_product(stage, {std::string(arch), extents.of, {}, tma});
    if (!plan) return plan.error();
    return PlannedProduct{plan->product, 0, plan->skeleton, plan->problem};
}

const std::string& tensor_name(const lower::Pipeline& pipeline, int tensor) {
    const auto& params = pipeline.kernel.params;
    const auto& outputs = pipeline.kernel.outputs;
    auto at = static_cast<std::size_t>(tensor);
    if (at < params.size()) return params[at].name;
    at -= params.size();
    if (at < outputs.size()) return outputs[at].tensor.name;
    return pipeline.intermediates.at(at - outputs.size()).name;
}

}  // namespace

std::string title(const PlannedProduct& product) {
    if (!product.name.empty()) return product.name;
    return fmt::format("the product of kernel {}", product.stage + 1);
}

std::function<const schedule::Schedule*(const std::string& product)> schedule_lookup(
    const Schedules& schedules) {
    return [&schedules](const std::string& product) {
        const auto found = schedules.find(product);
        return found == schedules.end() ? nullptr : &found->second;
    };
}

Result<Plan> plan_stages(const ir::Kernel& kernel, std::string_view arch, const Extents& extents,
                         bool tma, const Schedules& schedules) {
    if (auto fine = check_arch(arch); !fine) return fine.error();
    lower::LowerOptions options;
    options.arch = arch;
    options.extents = extents.of;
    options.assumed = extents.assumed;
    options.tma = tma;
    options.schedule = schedule_lookup(schedules);
    const auto pipeline = lower::stages(kernel, options);
    if (!pipeline) return blame_input(pipeline.error());
    Plan plan{{}, {}, pipeline->cuts, extents};
    for (const ir::Tensor& tensor : pipeline->intermediates) plan.kept.push_back(tensor.name);
    // Expanding attention may have added dimensions.
    plan.extents.of.resize(pipeline->kernel.dims.size(), ir::kUnknownExtent);
    plan.extents.assumed.resize(pipeline->kernel.dims.size());
    if (auto what = ir::solve_extents(pipeline->kernel, plan.extents.of); !what.empty())
        throw InternalError("the extents no longer agree after the cut: " + what);
    for (const lower::Stage& stage : pipeline->stages) {
        PlannedStage planned{stage.kind, stage.kernel, {}, {}, {}, {}};
        for (std::size_t i = 0; i < stage.params.size(); ++i)
            if (ir::is_read(stage.kernel, i))
                planned.reads.push_back(tensor_name(*pipeline, stage.params[i]));
        if (stage.statistics)
            for (const int param : stage.statistics->params)
                planned.finds.push_back(
                    tensor_name(*pipeline, stage.params[static_cast<std::size_t>(param)]));
        for (const int tensor : stage.outputs)
            planned.writes.push_back(tensor_name(*pipeline, tensor));
        if (stage.kind == lower::StageKind::product) {
            auto product = planned_product(stage, arch, plan.extents, tma);
            if (!product) return blame_input(product.error());
            planned.product = std::move(*product);
            planned.product->stage = plan.stages.size();
        }
        plan.stages.push_back(std::move(planned));
    }
    return plan;
}

}  // namespace fact::tools
