#include "driver/learned_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "compose/rewrite.h"
#include "driver/accepted.h"
#include "support/files.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtension = ".rule";

fs::path file_of(const fs::path& registry, const std::string& name) {
    return registry / "rules" / (name + std::string(kExtension));
}

}  // namespace

std::vector<StoredRule> learned_rules(const registry::Folders& folders,
                                      std::vector<std::string>* damaged) {
    std::vector<StoredRule> all;
    const auto read = [&](const fs::path& registry, bool own) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(registry / "rules", ignored)) {
            if (entry.path().extension() != kExtension) continue;
            const auto text = read_file(entry.path());
            auto rule =
                text ? agent::rule_from_json(*text) : Result<agent::LearnedRule>(text.error());
            if (rule)
                all.push_back({std::move(*rule), entry.path(), own});
            else if (damaged)
                damaged->push_back(entry.path().string() + ": " + rule.error().message);
        }
    };
    read(folders.own, true);
    for (const auto& shipped : folders.shipped) read(shipped, false);
    std::ranges::stable_sort(all, {}, [](const StoredRule& one) { return one.rule.name; });
    // Of rules with the same name the first stays: the user's own before a shipped one.
    const auto repeated = std::ranges::unique(
        all, {}, [](const StoredRule& one) -> const std::string& { return one.rule.name; });
    all.erase(repeated.begin(), repeated.end());
    return all;
}

Result<> learn(const registry::Folders& folders, const agent::LearnedRule& rule) {
    if (!is_plain_name(rule.name))
        return Error{fmt::format("'{}' cannot be a rule's name", rule.name),
                     "a name has only letters, digits and _", true};
    return write_file_atomic(file_of(folders.own, rule.name), agent::to_json(rule));
}

Result<> forget(const registry::Folders& folders, const std::string& name) {
    std::error_code error;
    if (is_plain_name(name) && fs::remove(file_of(folders.own, name), error)) return Ok{};
    for (const auto& shipped : folders.shipped)
        if (is_plain_name(name) && fs::exists(file_of(shipped, name), error))
            return Error{fmt::format("the rule '{}' comes with FACT and cannot be forgotten", name),
                         "--no-shipped-rules of `fact optimize` leaves such rules out", true};
    return Error{fmt::format("there is no learned rule '{}' of your own", name),
                 "`fact registry rules list` names them", true};
}

void add_learned(const std::vector<StoredRule>& rules, const graph::Graph& graph,
                 const match::Options& options, match::Discovery& discovery) {
    const auto is_known = [&](const match::Pattern& pattern) {
        return std::ranges::any_of(discovery.patterns,
                                   [&](const auto& one) { return one.nodes == pattern.nodes; });
    };
    for (const auto& stored : rules) {
        try {
            for (const auto& pattern : agent::find_matches(graph, stored.rule, options))
                if (!is_known(pattern) && compose::make_call(graph, pattern))
                    add_pattern(pattern, discovery);
        } catch (const std::exception&) {
            continue;  // a defect of FACT costs this rule, not the run
        }
    }
}

}  // namespace fact::driver
