// `fact registry`, and what its subcommands share; add_registry is declared in cli/commands.h.
#include <fmt/format.h>

#include "cli/registry_commands.h"
#include "driver/environment.h"

namespace fact::cli {

void add_registry(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand("registry", "Records of measured kernels");
    command->require_subcommand(1);
    command->footer(
        "Records are in FACT_REGISTRY (else registry/ beside the compiled kernels) and in the\n"
        "folder FACT ships; only the first is written to. docs/registry.md describes the format.\n"
        "Example:  fact registry list --gpu h200 --dtype bf16");
    for (const auto add :
         {add_registry_list, add_registry_show, add_registry_export, add_registry_import,
          add_registry_prune, add_registry_stats, add_registry_rules})
        add(*command, action);
}

void add_registry_filter(CLI::App& app, registry::Filter& filter) {
    app.add_option("--gpu", filter.gpu,
                   "Only records of this GPU: h200, or part of the driver's name");
    app.add_option("--rule", filter.rule,
                   "Only records of this rule (linear, attention) or kernel");
    app.add_option("--dtype", filter.dtype,
                   "Only records with operands of this type: bf16, f16, f32");
}

registry::Registry open_registry() {
    return registry::Registry(driver::registry_folders());
}

std::vector<registry::Entry> filtered(registry::Listing listing, const registry::Filter& filter) {
    std::erase_if(listing.entries,
                  [&](const registry::Entry& e) { return !registry::passes(e.record, filter); });
    return std::move(listing.entries);
}

std::string shape_text(const registry::Work& work) {
    return fmt::format("{}{}x{}x{}", work.batch > 1 ? fmt::format("{} x ", work.batch) : "", work.m,
                       work.n, work.k);
}

void warn_damaged(const registry::Listing& listing) {
    for (const auto& damaged : listing.damaged)
        fmt::print(stderr, "warning: {}: {}; it is skipped\n", damaged.file.string(), damaged.why);
}

}  // namespace fact::cli
