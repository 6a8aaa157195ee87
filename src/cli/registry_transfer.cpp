// `fact registry export` and `fact registry import`; declared in cli/registry_commands.h.
#include <fmt/format.h>

#include <memory>

#include "cli/registry_commands.h"
#include "support/files.h"
#include "support/table.h"

namespace fact::cli {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // of an imported file

struct ExportOptions {
    std::string file;
    registry::Filter filter;
};

int export_records(const ExportOptions& options) {
    if (options.file != "-")
        if (auto fine = file_to_replace(options.file, "{", "a list of records"); !fine)
            return fail(blame_input(fine.error()));
    auto listing = open_registry().all();
    warn_damaged(listing);
    const auto entries = filtered(std::move(listing), options.filter);
    if (entries.empty())
        return fail({"no record matches, so nothing was written",
                     "`fact registry list` shows what there is", true});
    const auto lines = registry::to_lines(entries);
    if (options.file == "-") {
        print(lines);
        return kDone;
    }
    if (auto written = write_file_atomic(options.file, lines); !written)
        return fail(blame_input(written.error()));
    print(fmt::format("{}: {}\n", options.file, counted(entries.size(), "record")));
    return kDone;
}

int import_records(const std::vector<std::string>& files) {
    const auto registry = open_registry();
    int refused = 0;
    for (const auto& file : files) {
        const auto text = file == "-" ? read_standard_input(kMaxBytes) : read_file(file, kMaxBytes);
        if (!text) return fail(blame_input(text.error()));
        const auto done = registry::import_lines(registry, *text);
        if (!done) return fail(done.error());
        print(
            fmt::format("{}: {} added, {} replaced by a later measurement, {} kept as they were, "
                        "{} refused\n",
                        file, done->added, done->replaced, done->kept, done->refused.size()));
        for (const auto& one : done->refused)
            fmt::print(stderr, "{}:{}: refused: {}\n", file, one.line, one.why);
        refused += static_cast<int>(done->refused.size());
    }
    if (refused)
        return fail({fmt::format("{} refused", counted(refused, "record")),
                     "the others, if any, were imported", true});
    return kDone;
}

}  // namespace

void add_registry_export(CLI::App& app, Action& action) {
    auto options = std::make_shared<ExportOptions>();
    auto* command = app.add_subcommand("export", "Write records to one file, one line each");
    command->add_option("FILE", options->file, "The file to write (*.jsonl); - is standard output")
        ->required();
    add_registry_filter(*command, options->filter);
    command->callback(
        [&action, options] { action = [options] { return export_records(*options); }; });
}

void add_registry_import(CLI::App& app, Action& action) {
    auto files = std::make_shared<std::vector<std::string>>();
    auto* command =
        app.add_subcommand("import", "Add exported records, or files of another registry");
    command->add_option("FILE", *files, "An exported file; - is standard input")->required();
    command->footer(
        "Each record is checked first. Of two with the same key the later measurement is kept.");
    command->callback([&action, files] { action = [files] { return import_records(*files); }; });
}

}  // namespace fact::cli
