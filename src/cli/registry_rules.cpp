// `fact registry rules`; add_registry_rules is declared in cli/registry_commands.h.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/registry_commands.h"
#include "driver/environment.h"
#include "driver/learned_rules.h"
#include "support/files.h"

namespace fact::cli {

namespace {

struct RuleOptions {
    std::string name, file;
};

// All learned rules; warns of files that cannot be read.
std::vector<driver::StoredRule> stored_rules() {
    std::vector<std::string> damaged;
    auto rules = driver::learned_rules(driver::registry_folders(), &damaged);
    for (const auto& line : damaged) fmt::print(stderr, "warning: {}; it is skipped\n", line);
    return rules;
}

Result<driver::StoredRule> find_rule(const std::string& name) {
    for (auto& stored : stored_rules())
        if (stored.rule.name == name) return std::move(stored);
    return Error{fmt::format("there is no learned rule '{}'", name),
                 "`fact registry rules list` names them", true};
}

int list_rules() {
    const auto rules = stored_rules();
    for (const auto& stored : rules)
        print(fmt::format("{}  {} operators  {}{}\n", stored.rule.name,
                          stored.rule.original.nodes.size(), stored.rule.evidence,
                          stored.own ? "" : " (shipped)"));
    if (rules.empty()) print("there are no learned rules\n");
    return kDone;
}

int show_rule(const RuleOptions& options) {
    const auto found = find_rule(options.name);
    if (!found) return fail(found.error());
    std::string operators;
    for (const auto& node : found->rule.original.nodes) operators += "  " + node.target + "\n";
    print(fmt::format("{}\n{}\n\n{}\nfor\n{}", found->rule.name, found->rule.evidence,
                      found->rule.text, operators));
    return kDone;
}

int export_rule(const RuleOptions& options) {
    const auto found = find_rule(options.name);
    if (!found) return fail(found.error());
    const auto target = file_to_replace(options.file);
    if (!target) return fail(blame_input(target.error()));
    const auto folder = std::filesystem::absolute(*target).parent_path();
    if (std::error_code ignored; !std::filesystem::is_directory(folder, ignored))
        return fail(
            {fmt::format("cannot write {}: there is no folder {}", options.file, folder.string()),
             "make the folder first", true});
    if (auto done = write_file_atomic(*target, agent::to_json(found->rule)); !done)
        return fail(blame_input(done.error()));
    return kDone;
}

int import_rule(const RuleOptions& options) {
    const auto text = read_file(options.file);
    if (!text) return fail(blame_input(text.error()));
    const auto rule = agent::rule_from_json(*text);
    if (!rule) return fail({options.file + ": " + rule.error().message, rule.error().hint, true});
    const auto known = find_rule(rule->name);
    const bool shipped = known && !known->own;
    if (shipped && agent::to_json(known->rule) == agent::to_json(*rule)) {
        print(fmt::format("{}: the rule comes with FACT already, so it was not copied\n",
                          rule->name));
        return kDone;
    }
    if (auto done = driver::learn(driver::registry_folders(), *rule); !done)
        return fail(done.error());
    print(fmt::format(
        "{}{}\n", rule->name,
        shipped ? ": the rule comes with FACT already; yours, with its evidence, is used instead"
        : known ? ": the rule existed already; its evidence was replaced"
                : ""));
    return kDone;
}

int forget_rule(const RuleOptions& options) {
    if (auto done = driver::forget(driver::registry_folders(), options.name); !done)
        return fail(done.error());
    return kDone;
}

}  // namespace

void add_registry_rules(CLI::App& app, Action& action) {
    auto options = std::make_shared<RuleOptions>();
    auto* rules = app.add_subcommand(
        "rules", "Learned rules: proved patterns of a model, found again without the model");
    rules->require_subcommand(1);
    const auto add = [&](const char* name, const char* what, int (*run)(const RuleOptions&),
                         bool takes_name, bool takes_file) {
        auto* command = rules->add_subcommand(name, what);
        if (takes_name) command->add_option("NAME", options->name, "The rule")->required();
        if (takes_file) command->add_option("FILE", options->file, "The file")->required();
        command->callback(
            [&action, options, run] { action = [options, run] { return run(*options); }; });
    };
    add("list", "List all rules", [](const RuleOptions&) { return list_rules(); }, false, false);
    add("show", "Show the text, operators and evidence of a rule", show_rule, true, false);
    add("export", "Write a rule to a file", export_rule, true, true);
    add("import", "Read a rule from a file; every match of it is proved anew", import_rule, false,
        true);
    add("forget", "Remove a rule of your own", forget_rule, true, false);
}

}  // namespace fact::cli
