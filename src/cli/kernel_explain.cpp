// `fact kernel explain`; add_kernel_explain is declared in cli/kernel_commands.h.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/kernel_commands.h"
#include "driver/ceilings.h"
#include "target/arch.h"
#include "tools/explain.h"
#include "tools/plan.h"

namespace fact::cli {

namespace {

struct KernelExplainOptions {
    KernelOptions kernel;
    std::string gpu = "h200";
    bool json = false;
};

std::string to_json(const ir::Kernel& kernel, const tools::Plan& plan, const std::string& words) {
    using Json = nlohmann::ordered_json;
    // In the order of lower::StageKind.
    constexpr const char* kKinds[] = {"product", "rows", "attention"};
    Json extents = Json::object(), stages = Json::array();
    for (std::size_t d = 0; d < kernel.dims.size(); ++d)
        if (!kernel.dims[d].extent) extents[kernel.dims[d].name] = plan.extents.of[d];
    for (const tools::PlannedStage& stage : plan.stages) {
        Json entry{{"kind", kKinds[static_cast<int>(stage.kind)]},
                   {"reads", stage.reads},
                   {"writes", stage.writes}};
        if (stage.product) entry["product"] = tools::title(*stage.product);
        stages.push_back(std::move(entry));
    }
    return Json{{"kernel", kernel.name}, {"extents", extents}, {"stages", stages},
                {"kept", plan.kept},     {"cuts", plan.cuts},  {"words", words}}
               .dump(2, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

int explain(const KernelExplainOptions& options) {
    const auto settings = tools::parse_settings(options.kernel.set);
    if (!settings) return fail(settings.error());
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    const auto ceilings =
        driver::find_ceilings(*environment, options.gpu, std::string(kDefaultArch));
    if (!ceilings) return fail(ceilings.error());
    const auto loaded = load(options.kernel);
    if (!loaded) return fail(loaded.error());
    const auto extents = tools::bind_extents(*loaded->kernel, *settings, tools::Assume::typical);
    if (!extents) return fail(extents.error());
    const std::string words = tools::explain(loaded->program, *loaded->kernel, loaded->source.text,
                                             *extents, ceilings->gpu);
    if (!options.json) {
        print(words);
        return kDone;
    }
    const auto plan = tools::plan_stages(*loaded->kernel, ceilings->gpu.arch, *extents);
    if (!plan) return fail(plan.error());
    print(to_json(*loaded->kernel, *plan, words));
    return kDone;
}

}  // namespace

void add_kernel_explain(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelExplainOptions>();
    auto* command = app.add_subcommand(
        "explain", "Explain in words what a kernel computes, its bounds, and how it is scheduled");
    add_kernel_choice(*command, options->kernel);
    command->add_flag("--json", options->json, "As JSON");
    command->add_option("--gpu", options->gpu, "For which GPU")->capture_default_str();
    command->footer("Example:  fact kernel explain mlp.fact --set M=8192,N=4096,K=1024");
    command->callback([&action, options] { action = [options] { return explain(*options); }; });
}

}  // namespace fact::cli
