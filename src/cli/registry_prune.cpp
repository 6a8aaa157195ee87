// `fact registry prune` and `fact registry stats`; declared in cli/registry_commands.h.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/registry_commands.h"
#include "jit/compiler.h"
#include "registry/identity.h"
#include "support/clock.h"
#include "support/table.h"

namespace fact::cli {

namespace {

namespace fs = std::filesystem;

struct RegistryPruneOptions {
    bool other_toolchain = false, damaged = false, dry_run = false;
    double older_than = 0;  // days; 0: of any age
    registry::Filter filter;
};

int prune(const RegistryPruneOptions& options) {
    if (!options.other_toolchain && !options.damaged && options.older_than <= 0)
        return fail({"no records to remove were selected",
                     "give --toolchain-other, --older-than DAYS or --damaged", true});
    std::string versions;  // of this machine's compiler and CUTLASS
    if (options.other_toolchain) {
        const auto toolchain = jit::find_toolchain();
        if (!toolchain) return fail(toolchain.error());
        versions = toolchain->version;
    }
    const auto oldest_kept = utc_days_ago(options.older_than);  // dates compare as strings
    const auto registry = open_registry();
    auto listing = registry.all();
    std::vector<fs::path> files;
    const auto select = [&](const fs::path& file, const std::string& why) {
        print(
            fmt::format("{}{}: {}\n", options.dry_run ? "would remove " : "", file.string(), why));
        files.push_back(file);
    };
    if (options.damaged)
        for (const auto& damaged : listing.damaged)
            // Records are in own/GPU/KEY.json; shipped ones are never removed.
            if (damaged.file.parent_path().parent_path() == registry.folders().own)
                select(damaged.file, damaged.why);
    for (const auto& entry : filtered(std::move(listing), options.filter)) {
        if (!entry.own) continue;
        const auto& r = entry.record;
        if (options.other_toolchain && r.toolchain.versions != versions)
            select(entry.file, fmt::format("compiled with {}", r.toolchain.versions));
        else if (options.older_than > 0 && r.provenance.date < oldest_kept)
            select(entry.file, fmt::format("measured {}", r.provenance.date));
    }
    if (options.dry_run) {
        print(fmt::format("{} would be removed\n", counted(files.size(), "file")));
        return kDone;
    }
    const auto removed = registry.remove(files);
    if (!removed) return fail(removed.error());
    print(fmt::format("{} removed\n", counted(*removed, "file")));
    return kDone;
}

int stats() {
    const auto registry = open_registry();
    const auto listing = registry.all();
    warn_damaged(listing);
    struct Group {
        int records = 0, own = 0, faster = 0;
        std::map<std::string, int> toolchains;
        std::string latest;
    };
    std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
    for (const auto& [file, own, r] : listing.entries) {
        auto& group = groups[{r.work.gpu, r.work.rule, r.work.dtype}];
        ++group.records;
        group.own += own;
        group.faster += r.torch_single.runs > 0 && r.single.median_us < r.torch_single.median_us;
        ++group.toolchains[r.toolchain.versions];
        group.latest = std::max(group.latest, r.provenance.date);
    }
    Table table({{"gpu"},
                 {"rule"},
                 {"dtype"},
                 {"records", Align::right},
                 {"own", Align::right},
                 {"faster than torch", Align::right},
                 {"toolchains", Align::right},
                 {"latest"}});
    for (const auto& [what, group] : groups) {
        const auto& [gpu, rule, dtype] = what;
        table.row({gpu, rule, dtype, std::to_string(group.records), std::to_string(group.own),
                   std::to_string(group.faster), std::to_string(group.toolchains.size()),
                   group.latest.substr(0, 10)});
    }
    if (!table.empty()) print(table.text("") + "\n");
    print(fmt::format("{}, {}\n", counted(listing.entries.size(), "record"),
                      counted(listing.damaged.size(), "damaged file")));
    print(fmt::format("own:     {}\n", registry.folders().own.string()));
    for (const auto& folder : registry.folders().shipped)
        print(fmt::format("shipped: {}\n", folder.string()));
    return kDone;
}

}  // namespace

void add_registry_prune(CLI::App& app, Action& action) {
    auto options = std::make_shared<RegistryPruneOptions>();
    auto* command =
        app.add_subcommand("prune", "Remove the records of your own that the options select");
    command->add_flag("--toolchain-other", options->other_toolchain,
                      "Records made with another version of the compiler or of CUTLASS");
    command
        ->add_option("--older-than", options->older_than,
                     "Records measured more than this many days ago")
        ->check(is_positive())
        ->type_name("DAYS");
    command->add_flag("--damaged", options->damaged, "Files that are not valid records");
    command->add_flag("--dry-run", options->dry_run, "Only say what would be removed");
    add_registry_filter(*command, options->filter);
    command->callback([&action, options] { action = [options] { return prune(*options); }; });
}

void add_registry_stats(CLI::App& app, Action& action) {
    auto* command =
        app.add_subcommand("stats", "How many records there are, by GPU, rule and dtype");
    command->callback([&action] { action = stats; });
}

}  // namespace fact::cli
