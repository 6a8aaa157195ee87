// `fact examples`; add_examples is declared in cli/commands.h.
#include "driver/examples.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/diagnostics.h"
#include "support/table.h"
#include "target/arch.h"
#include "tools/extents.h"
#include "tools/kernel_source.h"

namespace fact::cli {

namespace {

namespace fs = std::filesystem;

struct ExamplesOptions {
    std::string arch{kDefaultArch}, name, what, output;
    std::vector<std::string> set;  // "M=8192": extents of dimensions
    std::size_t count = 3;
    bool json = false;
};

Result<index::Collection> collection(const ExamplesOptions& options) {
    const auto folder = driver::index_folder();
    if (!folder) return folder.error();
    auto found = index::read_collection(*folder, options.arch);
    if (found)
        for (const auto& line : found->damaged)
            fmt::print(stderr, "warning: {}; it is skipped\n", line);
    return found;
}

// The speedup over torch.
std::string gain(const index::Example& example) {
    return fmt::format("{:.2f}x", example.torch_us / example.time_us);
}

// The bound as a share of the time.
std::string of_bound(const index::Example& example) {
    return fmt::format("{:.0f} %", 100 * example.bound_us / example.time_us);
}

int list_examples(const ExamplesOptions& options) {
    const auto found = collection(options);
    if (!found) return fail(found.error());
    if (options.json) {
        auto all = nlohmann::json::array();
        for (const auto& entry : found->entries) all.push_back(driver::to_json(entry.example));
        print(all.dump(1) + "\n");
        return kDone;
    }
    Table table({{"name"},
                 {"time", Align::right},
                 {"over torch", Align::right},
                 {"of bound", Align::right},
                 {"computes"}});
    for (const auto& [example, features] : found->entries)
        table.row({example.name, duration(example.time_us), gain(example), of_bound(example),
                   example.computes});
    print(table.text(""));
    print(fmt::format("{}, {}\n", counted(found->entries.size(), "example"),
                      counted(found->cards.size(), "rule card")));
    return kDone;
}

int show_example(const ExamplesOptions& options) {
    const auto found = collection(options);
    if (!found) return fail(found.error());
    std::vector<std::string> names;
    for (const auto& [example, features] : found->entries) {
        if (example.name == options.name) {
            print(index::to_file(example));
            return kDone;
        }
        names.push_back(example.name);
    }
    const auto near = nearest(options.name, names);
    return fail(
        {fmt::format("there is no example '{}'", options.name),
         near.empty() ? "`fact examples list` names them" : fmt::format("did you mean '{}'?", near),
         true});
}

// The features of a text from a file or standard input, or of a run's pattern.
Result<index::Features> wanted_features(const ExamplesOptions& options) {
    std::error_code ignored;
    const auto colon = options.what.rfind(':');
    if (fs::is_directory(options.what, ignored))
        return Error{options.what + " is a folder",
                     "name one of a run's patterns: " + options.what + ":PATTERN", true};
    if (colon != std::string::npos && !fs::exists(options.what, ignored)) {
        if (!options.set.empty())
            return Error{"--set is for texts: the pattern's extents are known", "", true};
        return driver::features_of_pattern(driver::RunFolder(options.what.substr(0, colon)),
                                           options.what.substr(colon + 1));
    }
    const auto settings = tools::parse_settings(options.set);
    if (!settings) return settings.error();
    const auto source = tools::read_source(options.what);
    if (!source) return source.error();
    index::Extents extents;
    for (const auto& setting : *settings) extents[setting.dim] = setting.extent;
    return driver::features_of_text(source->name, source->text, extents);
}

int find_examples(const ExamplesOptions& options) {
    const auto features = wanted_features(options);
    if (!features) return fail(features.error());
    const auto related = driver::find_related(*features, {options.arch, options.count});
    if (!related) return fail(related.error());
    if (options.json) {
        auto all = driver::to_json(*related);
        all["wanted"] = index::in_words(*features);
        print(all.dump(1) + "\n");
        return kDone;
    }
    print(fmt::format("nearest to: {}\n", index::in_words(*features)));
    for (const auto& [example, distance] : related->examples)
        print(fmt::format("\n{} (distance {:.2f})\n  {}\n  {}\n\n{}", example.name, distance,
                          index::times_line(example), example.schedule, example.text));
    for (const auto& card : related->cards)
        print(fmt::format("\n{}\n  {}\n  Evidence: {}\n", card.title, card.advice, card.evidence));
    return kDone;
}

int build_examples(const ExamplesOptions& options) {
    auto folder = options.output.empty() ? driver::index_folder() : fs::path(options.output);
    if (!folder) return fail(folder.error());
    std::error_code ignored;
    if (fs::exists(*folder, ignored) && !fs::is_directory(*folder, ignored))
        return fail({folder->string() + " is not a folder", "name a folder for the index", true});
    const auto changes = driver::build_index(*folder);
    if (!changes) return fail(changes.error());
    print(fmt::format("{}: {} added, {} changed, {} removed, {} unchanged\n", folder->string(),
                      changes->added, changes->changed, changes->removed, changes->kept));
    return kDone;
}

}  // namespace

void add_examples(CLI::App& app, Action& action) {
    auto options = std::make_shared<ExamplesOptions>();
    auto* examples = app.add_subcommand(
        "examples", "Examples: kernels that were proved and measured, found by structure");
    examples->require_subcommand(1);
    examples->footer(
        "The examples are in FACT_INDEX, else in index/ of FACT's own folder; see docs/agents.md.\n"
        "Example:  fact examples find mine.fact --set M=8192 --set K=768");
    const auto add = [&](const char* name, const char* what, int (*run)(const ExamplesOptions&)) {
        auto* command = examples->add_subcommand(name, what);
        command->callback(
            [&action, options, run] { action = [options, run] { return run(*options); }; });
        return command;
    };
    auto* list = add("list", "List all examples, one line each", list_examples);
    auto* show = add("show", "Print the file of an example", show_example);
    show->add_option("NAME", options->name, "The example")->required();
    auto* find =
        add("find", "Find the examples nearest to a text or to a pattern of a run", find_examples);
    find->add_option("WHAT", options->what,
                     "A kernel text (- is standard input), or RUN:PATTERN, a run folder and one of "
                     "its patterns")
        ->required();
    find->add_option("-n", options->count, "How many")->check(CLI::Range(1, 100));
    find->add_option("--set", options->set, "Extent of a dimension of the text, such as M=8192");
    auto* build = add("build", "Make the examples from the registry's records", build_examples);
    build->add_option("-o", options->output,
                      "The index to write (default: the one that is read): a folder for each "
                      "architecture");
    for (auto* command : {list, show, find}) add_arch(*command, options->arch);
    for (auto* command : {list, find})
        command->add_flag("--json", options->json, "As JSON, texts included");
}

}  // namespace fact::cli
