// `fact kernel schedules`; add_kernel_schedules is declared in cli/kernel_commands.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/kernel_commands.h"
#include "support/table.h"
#include "target/arch.h"
#include "tools/plan.h"

namespace fact::cli {

namespace {

struct KernelSchedulesOptions {
    KernelOptions kernel;
    std::string arch{kDefaultArch};
    int most = 16;
    bool json = false;
};

using Json = nlohmann::ordered_json;

// Adds the product's schedules to `all` and, unless JSON is asked for, prints them.
void list(const tools::PlannedProduct& product, const KernelSchedulesOptions& options, Json& all) {
    Table table({{"", Align::right}, {"schedule"}, {"model", Align::right}});
    const auto ranked = schedule::candidates(product.skeleton, product.problem);
    const auto count =
        options.most > 0 ? std::min<std::size_t>(options.most, ranked.size()) : ranked.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto text = schedule::to_string(ranked[i]);
        const double us = schedule::expected_us(product.skeleton, ranked[i], product.problem);
        all.push_back(
            {{"product", tools::title(product)}, {"schedule", text}, {"expected_us", us}});
        table.row({fmt::format("{}", i + 1), text, duration(us)});
    }
    if (!options.json)
        print(fmt::format("{}: {} legal schedules\n{}", tools::title(product), ranked.size(),
                          table.text("")));
}

int schedules(const KernelSchedulesOptions& options) {
    const auto settings = tools::parse_settings(options.kernel.set);
    if (!settings) return fail(settings.error());
    const auto loaded = load(options.kernel);
    if (!loaded) return fail(loaded.error());
    const auto extents = tools::bind_extents(*loaded->kernel, *settings, tools::Assume::typical);
    if (!extents) return fail(extents.error());
    const auto plan = tools::plan_stages(*loaded->kernel, options.arch, *extents);
    if (!plan) return fail(plan.error());
    Json all = Json::array();
    for (const auto& stage : plan->stages)
        if (stage.product) list(*stage.product, options, all);
    if (options.json)
        print(all.dump(1) + "\n");
    else if (all.empty())
        print("no schedules: only products have them, attention and row kernels run in one way\n");
    return kDone;
}

}  // namespace

void add_kernel_schedules(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelSchedulesOptions>();
    auto* command = app.add_subcommand(
        "schedules", "List the legal schedules of a kernel's products, most promising first");
    add_kernel_choice(*command, options->kernel);
    add_arch(*command, options->arch);
    command->add_option("--most", options->most, "How many of them; 0: all")->capture_default_str();
    command->add_flag("--json", options->json, "As JSON");
    command->footer("Example:  fact kernel schedules mlp.fact --set M=8192,N=4096,K=1024");
    command->callback([&action, options] { action = [options] { return schedules(*options); }; });
}

}  // namespace fact::cli
