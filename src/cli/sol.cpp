// `fact sol`; add_sol is declared in cli/commands.h.
#include <memory>

#include "cli/commands.h"
#include "driver/speed_of_light.h"

namespace fact::cli {

namespace {

struct SolOptions {
    driver::SolRequest request;
    bool json = false, nodes = false, gpus = false;
};

int list_gpus() {
    const auto table = driver::gpu_table_text();
    if (!table) return fail(table.error());
    print(*table);
    return kDone;
}

int sol(const SolOptions& options) {
    if (options.gpus || options.request.gpu == "list") return list_gpus();
    if (options.request.settings.source.empty())
        return fail({"no module was given",
                     "give a .pt2 archive, FILE.py, package.module:factory or a run folder", true});
    const auto light = driver::speed_of_light(options.request);
    if (!light) return fail(light.error());
    print(options.json ? report::to_json(*light, options.nodes)
                       : report::to_text(*light, options.nodes));
    return kDone;
}

}  // namespace

void add_sol(CLI::App& app, Action& action) {
    auto options = std::make_shared<SolOptions>();
    auto& settings = options->request.settings;
    auto* command = app.add_subcommand("sol", "The speed of light: the least time of a module");
    command->add_option("SOURCE", settings.source,
                        "A .pt2 archive, FILE.py, package.module:factory, or a run folder");
    command->add_option("--gpu", options->request.gpu,
                        "For which GPU of the table, or 'list' (default: this machine's)");
    command->add_flag("--gpus", options->gpus, "Only print the table of GPUs");
    add_dtype(*command, settings.dtype);
    add_training(*command, settings.training);
    add_allow_tf32(*command, settings.allow_tf32);
    command->add_flag("--nodes", options->nodes, "Also every operator, equal ones in one line");
    command->add_flag("--json", options->json, "As JSON");
    command->footer("Example:  fact sol examples/minigpt_block.py --dtype bf16 --gpu h100-sxm");
    command->callback([&action, options] { action = [options] { return sol(*options); }; });
}

}  // namespace fact::cli
