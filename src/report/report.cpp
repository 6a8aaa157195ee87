#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/spelling.h"
#include "support/table.h"

namespace fact::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kIncidentWidth = 300;  // characters shown; the JSON is not cut

// The error on a GPU, or else that of the interpreted text, marked if other rows have a GPU's.
std::string error_cell(const PatternRow& row, bool any_ran) {
    const auto& errors = row.compiled.checks ? row.compiled : row.text;
    if (!errors.checks) return "-";
    return fmt::format("{}{} / {}", any_ran && !row.compiled.checks ? "text's: " : "",
                       error_text(errors.kernel), error_text(errors.eager));
}

std::string result_cell(const PatternRow& row) {
    if (!row.fused) return fmt::format("not fused: {}", one_line(row.why));
    if (!row.compiled.checks) return "fused, not run";
    return row.saves_us > 0 ? fmt::format("fused, saves {}", duration(row.saves_us)) : "fused";
}

bool any_timed(const Report& report) {
    return std::any_of(report.patterns.begin(), report.patterns.end(),
                       [](const PatternRow& row) { return row.single.runs > 0; });
}

bool module_timed(const Report& report) {
    return std::any_of(report.whole.begin(), report.whole.end(),
                       [](const ModuleRow& row) { return row.single.runs > 0; });
}

// Without a GPU only the kernels' texts were run.
bool any_ran(const Report& report) {
    return std::any_of(report.patterns.begin(), report.patterns.end(),
                       [](const PatternRow& row) { return row.compiled.checks > 0; });
}

bool any_checked(const Report& report) {
    return std::any_of(report.patterns.begin(), report.patterns.end(), [](const PatternRow& row) {
        return row.compiled.checks > 0 || row.text.checks > 0;
    });
}

// Patterns with the same kernel and outcome, as equal layers have: one row of the table.
struct PatternGroup {
    const PatternRow* first;
    int count;
};

std::vector<PatternGroup> grouped_patterns(const std::vector<PatternRow>& rows) {
    std::vector<PatternGroup> groups;
    std::map<std::string, std::size_t> group_of;  // position in `groups`
    for (const auto& row : rows) {
        const auto key = fmt::format("{}\n{}\n{}", row.kernel, row.fused, row.why);
        const auto [at, is_new] =
            group_of.try_emplace(row.kernel.empty() ? row.id : key, groups.size());
        if (is_new)
            groups.push_back({&row, 1});
        else
            ++groups[at->second].count;
    }
    return groups;
}

std::string pattern_table(const Report& report) {
    const bool timed = any_timed(report);
    const auto groups = grouped_patterns(report.patterns);
    const bool repeated = groups.size() < report.patterns.size();
    std::vector<Column> columns{{"pattern"}};
    if (repeated) columns.push_back({"count", Align::right});
    const bool ran = any_ran(report);
    columns.insert(columns.end(),
                   {{"source"},
                    {"precision"},
                    {"schedule"},
                    {ran ? "error / torch's" : "text's error / torch's", Align::right}});
    if (timed)
        columns.insert(columns.end(), {{"time", Align::right},
                                       {"exported", Align::right},
                                       {"single"},
                                       {"sustained"},
                                       {"runs", Align::right}});
    columns.push_back({"result"});
    Table table(columns);
    for (const auto& [first, count] : groups) {
        const auto& row = *first;
        std::vector<std::string> cells{row.id};
        if (repeated) cells.push_back(std::to_string(count));
        cells.insert(cells.end(), {row.where, row.precision, short_schedule(row.schedule),
                                   error_cell(row, ran)});
        if (timed) {
            cells.push_back(time_text(row.single));
            cells.push_back(time_text(row.baseline_single));
            cells.push_back(speedup(row.single, row.baseline_single));
            cells.push_back(speedup(row.sustained, row.baseline_sustained));
            cells.push_back(row.single.runs ? std::to_string(row.single.runs) : "-");
        }
        cells.push_back(result_cell(row));
        table.row(cells);
    }
    return table.text();
}

std::string statistics_text(const Statistics& s) {
    int tried = 0;
    std::string outcomes;
    for (const auto& [name, count] : s.candidates) {
        tried += count;
        outcomes += fmt::format("{}{} {}", outcomes.empty() ? "" : ", ", count, name);
    }
    return fmt::format(
        "  patterns found {}, families {}, with a kernel {}, verified as text {}, on the GPU {}, "
        "patterns composed {}\n"
        "  candidates {}{}; compiled {}, from the cache {}; {:.0f} s in all\n",
        s.patterns, s.families, s.realized, s.texts, s.verified, s.composed, tried,
        outcomes.empty() ? "" : ": " + outcomes, s.compiled, s.cached, s.seconds);
}

std::string operators_text(const Operators& o) {
    return fmt::format(
        "  operators {}: {} in patterns that were fused, {} in others, {} left alone, {} without "
        "work\n",
        o.all, o.fused, o.not_fused, o.left_alone, o.idle);
}

// A note if an earlier run measured some of the figures in the table.
std::string earlier_text(const Report& report) {
    const auto& s = report.statistics;
    if (!s.earlier) return {};
    if (s.earlier == s.realized)
        return "  the kernels are known from an earlier run: these are its figures\n";
    return fmt::format("  {} of {} kernels are known from an earlier run: these are its figures\n",
                       s.earlier, s.realized);
}

// Without a GPU: what was not measured, and what was checked nevertheless.
std::string unmeasured_text(const Report& report) {
    const auto& s = report.statistics;
    if (report.why_not_measured.empty() || s.families == 0) return {};
    auto out = fmt::format("\nnot measured: times, and the compiled kernels' results, because {}\n",
                           report.why_not_measured);
    if (s.realized == 0) return out;
    out += fmt::format("  checked here: {} of {} families have a kernel that compiles", s.realized,
                       s.families);
    if (s.texts)
        out += fmt::format(
            "; the texts of {} of them, interpreted on the CPU (large extents shrunk), agree with "
            "torch",
            s.texts);
    return out + "\n";
}

Json or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json json_of(const Times& t) {
    return to_json(t);
}

Json json_of(const Errors& e) {
    if (!e.checks) return nullptr;
    return {{"kernel", e.kernel}, {"eager", e.eager}, {"checks", e.checks}};
}

Json json_of(const Ablation& ablation) {
    if (!ablation.measured()) return nullptr;
    Json rows = Json::array();
    for (const auto& row : ablation.rows) {
        rows.push_back({{"family", row.family},
                        {"patterns", row.patterns},
                        {"alone", json_of(row.alone)},
                        {"all_but", json_of(row.all_but)},
                        {"kept", row.kept}});
        if (row.instead.runs) rows.back()["instead"] = json_of(row.instead);
    }
    return {{"eager", json_of(ablation.eager)},     {"all", json_of(ablation.all)},
            {"kept", json_of(ablation.kept)},       {"patterns", ablation.patterns},
            {"from_earlier_run", ablation.earlier}, {"families", rows}};
}

}  // namespace

std::string module_table(const std::vector<ModuleRow>& whole) {
    const auto eager = std::find_if(whole.begin(), whole.end(),
                                    [](const ModuleRow& row) { return row.name == "eager"; });
    const Times none;
    const Times& single = eager == whole.end() ? none : eager->single;
    const Times& sustained = eager == whole.end() ? none : eager->sustained;
    Table table({{"whole module"},
                 {"single", Align::right},
                 {"against eager"},
                 {"sustained", Align::right},
                 {"against eager"},
                 {"runs", Align::right},
                 {"peak memory", Align::right},
                 {"note"}});
    for (const auto& row : whole)
        table.row({row.name, time_text(row.single), speedup(row.single, single),
                   time_text(row.sustained), speedup(row.sustained, sustained),
                   row.single.runs ? std::to_string(row.single.runs) : "-",
                   row.peak_bytes > 0 ? fmt::format("{:.0f} MiB", row.peak_bytes / (1 << 20)) : "-",
                   row.why.empty() && !row.sustained_of.empty() ? "sustained: " + row.sustained_of
                                                                : row.why});
    return table.text();
}

std::string to_text(const Report& report) {
    std::string out =
        fmt::format("{}{}, {}\n", report.source, report.dtype.empty() ? "" : " in " + report.dtype,
                    report.device.empty() ? "no GPU" : report.device);
    if (!report.precision.empty())
        out += fmt::format("torch's settings, which kernels follow: {}\n", report.precision);
    if (!report.patterns.empty()) out += fmt::format("\n{}", pattern_table(report));
    if (any_timed(report))
        out +=
            "  time: median of single launches; in brackets what the 10th and 90th percentiles "
            "allow\n"
            "  exported: the same operators as torch.export wrote them, run by torch one after the "
            "other;\n"
            "    the module itself may run others: what a pattern gains there is in the whole "
            "module's rows\n";
    if (any_checked(report))
        out += fmt::format("  error{}: largest, over the output's largest magnitude, against f64\n",
                           any_ran(report) ? "" : " of the interpreted text");
    out += earlier_text(report);
    if (report.ablation.measured())
        out += fmt::format("\n{}{}", ablation_table(report.ablation),
                           report.ablation.earlier ? "  measured by an earlier run\n" : "");
    if (module_timed(report)) out += fmt::format("\n{}", module_table(report.whole));
    if (!report.whole_earlier.empty())
        out += fmt::format("  the whole module's figures are those of an earlier run, of {}\n",
                           report.whole_earlier);
    if (!report.whole_note.empty()) out += fmt::format("  whole module: {}\n", report.whole_note);
    if (!report.left_alone.empty())
        out += fmt::format("\nleft alone:\n{}", reasons(report.left_alone));
    if (!report.incidents.empty()) {
        out += "\nrejected candidates:\n";
        for (const auto& line : report.incidents)
            out += fmt::format("  {}\n", one_line(line, kIncidentWidth));
    }
    out += fmt::format("\nthe run:\n{}{}", operators_text(report.operators),
                       statistics_text(report.statistics));
    if (!report.agent.provider.empty()) out += "\n" + to_text(report.agent);
    out += unmeasured_text(report);
    if (!report.failed && !report.no_package.empty()) out += fmt::format("\n{}", report.no_package);
    if (!report.run.empty()) out += fmt::format("\nfiles of this run: {}\n", report.run);
    if (!report.package.empty())
        out +=
            fmt::format("package: {0}\n  use it: module = fact.load(\"{0}\"{1})\n", report.package,
                        report.without_weights ? ", weights=original_module" : "");
    return out;
}

std::string to_json(const Report& report) {
    Json patterns = Json::array(), whole = Json::array(), left_alone = Json::array();
    for (const auto& row : report.patterns)
        patterns.push_back({{"id", row.id},
                            {"where", row.where},
                            {"kernel", row.kernel},
                            {"precision", row.precision},
                            {"schedule", row.schedule},
                            {"fused", row.fused},
                            {"why", row.why},
                            {"bound_us", row.bound_us},
                            {"saves_us", row.saves_us},
                            {"from_earlier_run", row.earlier},
                            {"error_text", json_of(row.text)},
                            {"error_compiled", json_of(row.compiled)},
                            {"single", json_of(row.single)},
                            {"torch_single", json_of(row.baseline_single)},
                            {"sustained", json_of(row.sustained)},
                            {"torch_sustained", json_of(row.baseline_sustained)}});
    for (const auto& row : report.whole)
        whole.push_back({{"name", row.name},
                         {"single", json_of(row.single)},
                         {"sustained", json_of(row.sustained)},
                         {"sustained_of", row.sustained_of},
                         {"peak_bytes", row.peak_bytes > 0 ? Json(row.peak_bytes) : Json()},
                         {"why", row.why}});
    for (const auto* list : {&report.left_alone, &report.idle})
        for (const auto& item : *list)
            left_alone.push_back({{"node", item.node},
                                  {"target", item.target},
                                  {"where", graph::describe(item.where)},
                                  {"work", list == &report.left_alone},
                                  {"reason", item.reason}});
    const auto& s = report.statistics;
    const auto& o = report.operators;
    const Json all{
        {"source", report.source},
        {"dtype", report.dtype},
        {"device", report.device},
        {"not_measured", report.why_not_measured},
        {"precision", report.precision},
        {"patterns", patterns},
        {"whole", whole},
        {"whole_note", report.whole_note},
        {"whole_from_earlier_run", or_null(report.whole_earlier)},
        {"agrees", report.agrees ? Json(*report.agrees) : Json()},
        {"ablation", json_of(report.ablation)},
        {"left_alone", left_alone},
        {"incidents", report.incidents},
        {"agent", report.agent.provider.empty() ? Json(nullptr) : Json(json_of(report.agent))},
        {"operators",
         {{"all", o.all},
          {"fused", o.fused},
          {"in_patterns_not_fused", o.not_fused},
          {"left_alone", o.left_alone},
          {"without_work", o.idle}}},
        {"statistics",
         {{"patterns", s.patterns},
          {"families", s.families},
          {"realized", s.realized},
          {"texts_verified", s.texts},
          {"verified", s.verified},
          {"from_earlier_runs", s.earlier},
          {"composed", s.composed},
          {"candidates", s.candidates},
          {"compiled", s.compiled},
          {"cached", s.cached},
          {"measurements", s.measurements},
          {"seconds", s.seconds}}},
        {"run", report.run},
        {"package", or_null(report.package)},
        {"no_package", or_null(report.no_package)},
        {"failed", report.failed}};
    return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json(const Error& error) {
    const Json all{{"error", {{"message", error.message}, {"hint", or_null(error.hint)}}}};
    return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fact::report
