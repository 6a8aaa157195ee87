// The subcommands of `fact registry`, and the options they share.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "registry/transfer.h"

namespace fact::cli {

void add_registry_list(CLI::App& app, Action& action);
void add_registry_show(CLI::App& app, Action& action);
void add_registry_export(CLI::App& app, Action& action);
void add_registry_import(CLI::App& app, Action& action);
void add_registry_prune(CLI::App& app, Action& action);
void add_registry_stats(CLI::App& app, Action& action);
void add_registry_rules(CLI::App& app, Action& action);

void add_registry_filter(CLI::App& app, registry::Filter& filter);

// The user's registry and the one that FACT ships.
registry::Registry open_registry();
// The entries that pass the filter.
std::vector<registry::Entry> filtered(registry::Listing listing, const registry::Filter& filter);
// "65536x3072x768", or "8 x 65536x3072x768" with a batch.
std::string shape_text(const registry::Work& work);
// Lists on standard error the files that are not valid records.
void warn_damaged(const registry::Listing& listing);

}  // namespace fact::cli
