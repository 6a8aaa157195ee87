#include "report/compare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/times.h"
#include "support/table.h"

namespace fact::report {

namespace {

using ComparedJson = nlohmann::ordered_json;

std::optional<double> ratio_of(const Times& a, const Times& b) {
    if (!a.runs || !b.runs || b.median_us <= 0) return std::nullopt;
    return a.median_us / b.median_us;
}

std::string ratio_text(const Times& a, const Times& b) {
    const auto ratio = ratio_of(a, b);
    return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

std::string run_text(char name, const ComparedRun& run) {
    auto text = fmt::format("{}: {}\n   {}{}, {}; {} of {} fused\n", name, run.folder, run.source,
                            run.dtype.empty() ? "" : " in " + run.dtype,
                            run.device.empty() ? "no GPU" : run.device, run.fused,
                            counted(static_cast<std::size_t>(run.patterns), "pattern"));
    if (!run.not_measured.empty()) text += fmt::format("   not measured: {}\n", run.not_measured);
    if (!run.earlier.empty())
        text += fmt::format("   the whole module's times are those of an earlier run, of {}\n",
                            run.earlier);
    return text;
}

std::string whole_text(const std::vector<ComparedModule>& whole) {
    Table table({{"whole module"},
                 {"A single", Align::right},
                 {"B", Align::right},
                 {"A/B", Align::right},
                 {"A sustained", Align::right},
                 {"B", Align::right},
                 {"A/B", Align::right}});
    for (const auto& row : whole)
        table.row({row.name, time_text(row.a_single), time_text(row.b_single),
                   ratio_text(row.a_single, row.b_single), time_text(row.a_sustained),
                   time_text(row.b_sustained), ratio_text(row.a_sustained, row.b_sustained)});
    return table.empty() ? "" : "\n" + table.text();
}

std::string fused_in(const ComparedPattern& row) {
    if (row.a_fused && row.b_fused) return "both";
    const bool only_a = row.a_fused;
    const auto& id_in_other = only_a ? row.b : row.a;
    return fmt::format("only {}: {}", only_a ? "A" : "B",
                       id_in_other.empty() ? "the other found no such pattern"
                                           : one_line(only_a ? row.b_why : row.a_why, 60));
}

std::string pattern_text(const std::vector<ComparedPattern>& patterns) {
    Table table({{"pattern in A"},
                 {"in B"},
                 {"count", Align::right},
                 {"source"},
                 {"A single", Align::right},
                 {"B", Align::right},
                 {"A/B", Align::right},
                 {"sustained A/B", Align::right},
                 {"fused in"}});
    for (const auto& row : patterns)
        table.row({or_dash(row.a), or_dash(row.b), std::to_string(row.count), row.where,
                   time_text(row.a_single), time_text(row.b_single),
                   ratio_text(row.a_single, row.b_single),
                   ratio_text(row.a_sustained, row.b_sustained), fused_in(row)});
    return table.empty() ? "\n  neither run fused a pattern\n" : "\n" + table.text();
}

std::string count_text(const std::optional<double>& value) {
    if (!value) return "-";
    return *value == static_cast<long long>(*value) ? fmt::format("{:.0f}", *value)
                                                    : fmt::format("{:.4g}", *value);
}

// Both times and their ratio, under the keys that every part uses.
ComparedJson pair_json(const Times& a, const Times& b) {
    const auto ratio = ratio_of(a, b);
    return {{"a", to_json(a)},
            {"b", to_json(b)},
            {"a_over_b", ratio ? ComparedJson(*ratio) : ComparedJson()}};
}

ComparedJson run_json(const ComparedRun& run) {
    return {{"run", run.folder},
            {"source", run.source},
            {"dtype", run.dtype},
            {"device", run.device},
            {"not_measured", run.not_measured},
            {"whole_from_earlier_run", run.earlier},
            {"patterns", run.patterns},
            {"fused", run.fused}};
}

ComparedJson number_json(const std::optional<double>& value) {
    return value ? ComparedJson(*value) : ComparedJson();
}

}  // namespace

std::string to_text(const Comparison& c) {
    auto text = run_text('A', c.a) + run_text('B', c.b);
    for (const auto& note : c.notes) text += fmt::format("note: {}\n", note);
    if (!c.settings.empty()) {
        Table table({{"settings that differ"}, {"A"}, {"B"}});
        for (const auto& setting : c.settings)
            table.row({setting.name, or_dash(setting.a), or_dash(setting.b)});
        text += "\n" + table.text();
    }
    text += whole_text(c.whole) + pattern_text(c.patterns);
    if (!c.agent.empty()) {
        Table table({{"the model"}, {"A", Align::right}, {"B", Align::right}});
        for (const auto& row : c.agent) table.row({row.name, count_text(row.a), count_text(row.b)});
        text += "\n" + table.text();
    }
    return text;
}

std::string to_json(const Comparison& c) {
    auto settings = ComparedJson::array(), whole = ComparedJson::array(),
         patterns = ComparedJson::array(), agent = ComparedJson::array();
    for (const auto& setting : c.settings)
        settings.push_back({{"name", setting.name}, {"a", setting.a}, {"b", setting.b}});
    for (const auto& row : c.whole)
        whole.push_back({{"name", row.name},
                         {"single", pair_json(row.a_single, row.b_single)},
                         {"sustained", pair_json(row.a_sustained, row.b_sustained)}});
    for (const auto& row : c.patterns)
        patterns.push_back({{"a", row.a.empty() ? ComparedJson() : ComparedJson(row.a)},
                            {"b", row.b.empty() ? ComparedJson() : ComparedJson(row.b)},
                            {"where", row.where},
                            {"count", row.count},
                            {"a_fused", row.a_fused},
                            {"b_fused", row.b_fused},
                            {"a_why", row.a_why},
                            {"b_why", row.b_why},
                            {"single", pair_json(row.a_single, row.b_single)},
                            {"sustained", pair_json(row.a_sustained, row.b_sustained)}});
    for (const auto& row : c.agent)
        agent.push_back({{"name", row.name}, {"a", number_json(row.a)}, {"b", number_json(row.b)}});
    const ComparedJson all{{"a", run_json(c.a)},   {"b", run_json(c.b)}, {"notes", c.notes},
                           {"settings", settings}, {"whole", whole},     {"patterns", patterns},
                           {"agent", agent}};
    return all.dump(1, ' ', false, ComparedJson::error_handler_t::replace) + "\n";
}

}  // namespace fact::report
