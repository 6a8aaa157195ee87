// `fact registry list`; add_registry_list is declared in cli/registry_commands.h.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/registry_commands.h"
#include "registry/identity.h"
#include "report/report.h"
#include "report/spelling.h"
#include "support/json_fields.h"
#include "support/table.h"

namespace fact::cli {

namespace {

struct RegistryListOptions {
    registry::Filter filter;
    bool json = false;
};

std::string gain(const Times& own, const Times& torch) {
    return own.runs && torch.runs ? report::speedup(own, torch) : "";
}

std::string table(const std::vector<registry::Entry>& entries) {
    Table table({{"key"},
                 {"gpu"},
                 {"kernel"},
                 {"dtype"},
                 {"shape"},
                 {"schedule"},
                 {"time", Align::right},
                 {"single"},
                 {"sustained"},
                 {"measured"},
                 {"where"}});
    for (const auto& [file, own, r] : entries)
        table.row({registry::key(r), registry::gpu_folder(r.work.gpu), r.kernel, r.work.dtype,
                   shape_text(r.work), report::short_schedule(r.schedule),
                   duration(r.single.median_us), gain(r.single, r.torch_single),
                   gain(r.sustained, r.torch_sustained), r.provenance.date.substr(0, 10),
                   own ? "own" : "shipped"});
    return table.text("");
}

int list(const RegistryListOptions& options) {
    const auto registry = open_registry();
    auto listing = registry.all();
    warn_damaged(listing);
    const auto entries = filtered(std::move(listing), options.filter);
    if (options.json) {
        auto all = nlohmann::ordered_json::array();
        for (const auto& entry : entries) all.push_back(registry::json_of(entry.record));
        print(dump_json(all));
    } else if (entries.empty()) {
        print(fmt::format(
            "no records{}\n`fact optimize` on a machine with a GPU makes them, `fact registry "
            "import` adds those of others\n",
            registry.folders().shipped.empty() ? " in " + registry.folders().own.string() : ""));
    } else {
        print(table(entries));
    }
    return kDone;
}

}  // namespace

void add_registry_list(CLI::App& app, Action& action) {
    auto options = std::make_shared<RegistryListOptions>();
    auto* command = app.add_subcommand("list", "List the records, one line each");
    add_registry_filter(*command, options->filter);
    command->add_flag("--json", options->json, "The whole records as JSON");
    command->callback([&action, options] { action = [options] { return list(*options); }; });
}

}  // namespace fact::cli
