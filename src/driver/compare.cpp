#include "driver/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/accepted.h"
#include "driver/runs.h"
#include "match/patterns/pattern.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

using ReportJson = nlohmann::json;

struct ReadRun {
    RunSummary summary;
    match::Discovery discovery;
    ReportJson report;
};

Result<ReadRun> read_run(const fs::path& folder) {
    auto summary = summarize_run(folder);
    if (!summary) return summary.error();
    const RunFolder run(folder);
    const auto text = read_file(folder / "report.json");
    if (!text)
        return Error{
            fmt::format("{} has no report: the run is {}", folder.string(), summary->progress()),
            fmt::format("`fact runs resume {}` finishes it", folder.string()), true};
    auto report = try_parse_json(*text).value_or(ReportJson());
    const auto found = read_file(run.discovery());
    auto discovery =
        found ? match::discovery_from_json(*found) : Result<match::Discovery>(found.error());
    if (!report.is_object() || !report.contains("patterns") || !discovery)
        return Error{fmt::format("the report or the patterns of {} are damaged", folder.string()),
                     "run the same `fact optimize` again", true};
    return ReadRun{std::move(*summary), std::move(*discovery), std::move(report)};
}

std::string text_of(const ReportJson& json, const char* name) {
    const auto at = json.find(name);
    return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

// The report's section about the model; null if no model was asked.
ReportJson agent_of(const ReportJson& report) {
    return report.value("agent", ReportJson());
}

// The times in the field `name`; zeros if nothing was measured.
Times times_of(const ReportJson& json, const char* name) {
    const auto at = json.find(name);
    if (at == json.end() || !at->is_object()) return {};
    return {get_finite(*at, "median_us", 0), get_finite(*at, "p10_us", 0),
            get_finite(*at, "p90_us", 0), get_int(*at, "runs", 0)};
}

report::ComparedRun described(const ReadRun& run) {
    report::ComparedRun out{
        run.summary.folder.string(),         text_of(run.report, "source"),
        text_of(run.report, "dtype"),        text_of(run.report, "device"),
        text_of(run.report, "not_measured"), text_of(run.report, "whole_from_earlier_run")};
    for (const auto& row : run.report["patterns"]) {
        ++out.patterns;
        out.fused += get_bool(row, "fused", false);
    }
    return out;
}

std::vector<report::Difference> differences(const ReadRun& a, const ReadRun& b) {
    std::vector<report::Difference> out;
    const auto add = [&](const char* name, const auto& left, const auto& right) {
        if (left != right) out.push_back({name, fmt::format("{}", left), fmt::format("{}", right)});
    };
    const auto& a_settings = a.summary.settings;
    const auto& b_settings = b.summary.settings;
    add("source", a_settings.source, b_settings.source);
    add("--dtype", a_settings.dtype, b_settings.dtype);
    add("--arch", a_settings.arch, b_settings.arch);
    add("--allow-tf32", a_settings.allow_tf32, b_settings.allow_tf32);
    add("--training", a_settings.training, b_settings.training);
    add("--without-weights", a_settings.without_weights, b_settings.without_weights);
    add("torch's precision", text_of(a.report, "precision"), text_of(b.report, "precision"));
    const Asked a_asked = a.summary.asked.value_or(Asked{}),
                b_asked = b.summary.asked.value_or(Asked{});
    add("candidates (--effort)", a_asked.effort.candidates, b_asked.effort.candidates);
    add("seconds (--budget)", a_asked.effort.budget_s, b_asked.effort.budget_s);
    add("stops early", a_asked.effort.stop_early, b_asked.effort.stop_early);
    add("--also", fmt::format("{}", fmt::join(a_asked.also, " ")),
        fmt::format("{}", fmt::join(b_asked.also, " ")));
    add("registry", a_asked.registry, b_asked.registry);
    add("rules", a_asked.rules, b_asked.rules);
    add("shipped rules", a_asked.shipped_rules, b_asked.shipped_rules);
    const auto a_agent = agent_of(a.report), b_agent = agent_of(b.report);
    const auto provider = [](const ReportJson& agent) {
        return agent.is_object() ? text_of(agent, "provider") : std::string("rules");
    };
    add("--agent", provider(a_agent), provider(b_agent));
    if (!a_agent.is_object() || !b_agent.is_object()) return out;
    add("--agent-writes", text_of(a_agent, "writes"), text_of(b_agent, "writes"));
    add("--agent-bounds", text_of(a_agent, "bounds"), text_of(b_agent, "bounds"));
    return out;
}

std::vector<report::ComparedModule> whole_modules(const ReportJson& a, const ReportJson& b) {
    std::vector<report::ComparedModule> out;
    const auto row_of = [&](const std::string& name) -> report::ComparedModule& {
        const auto at = std::ranges::find(out, name, &report::ComparedModule::name);
        return at != out.end() ? *at : out.emplace_back(report::ComparedModule{name});
    };
    for (const auto& module : a.value("whole", ReportJson::array())) {
        auto& row = row_of(text_of(module, "name"));
        row.a_single = times_of(module, "single");
        row.a_sustained = times_of(module, "sustained");
    }
    for (const auto& module : b.value("whole", ReportJson::array())) {
        auto& row = row_of(text_of(module, "name"));
        row.b_single = times_of(module, "single");
        row.b_sustained = times_of(module, "sustained");
    }
    std::erase_if(out, [](const report::ComparedModule& row) {
        return !row.a_single.runs && !row.b_single.runs && !row.a_sustained.runs &&
               !row.b_sustained.runs;
    });
    return out;
}

// A pattern of a run, with its row in the report.
struct ReportedPattern {
    const ReportJson* row;
    std::string key;     // equal for patterns of two runs that correspond
    std::string family;  // equal for patterns with the same kernel
};

std::vector<ReportedPattern> reported_patterns(const ReadRun& run, bool same_graph) {
    std::vector<ReportedPattern> out;
    for (const auto& row : run.report["patterns"]) {
        const auto pattern =
            std::ranges::find(run.discovery.patterns, text_of(row, "id"), &match::Pattern::id);
        if (pattern == run.discovery.patterns.end()) continue;
        auto nodes = pattern->nodes;
        std::ranges::sort(nodes);
        auto key = same_graph ? fmt::format("{}", fmt::join(nodes, " "))
                              : fmt::format("{}\n{}", pattern->kernel, pattern->extents);
        out.push_back({&row, std::move(key), pattern->family});
    }
    return out;
}

void add_side(const ReportJson& row, std::string& id, bool& fused, std::string& why, Times& single,
              Times& sustained) {
    id = text_of(row, "id");
    fused = get_bool(row, "fused", false);
    why = text_of(row, "why");
    single = times_of(row, "single");
    sustained = times_of(row, "sustained");
}

std::vector<report::ComparedPattern> patterns(const ReadRun& a, const ReadRun& b, bool same_graph) {
    std::vector<report::ComparedPattern> out;
    std::map<std::string, std::size_t> alike;  // index of the row in `out`: equal layers share one
    const auto add = [&](const ReportedPattern* left, const ReportedPattern* right) {
        report::ComparedPattern row;
        if (left)
            add_side(*left->row, row.a, row.a_fused, row.a_why, row.a_single, row.a_sustained);
        if (right)
            add_side(*right->row, row.b, row.b_fused, row.b_why, row.b_single, row.b_sustained);
        if (!row.a_fused && !row.b_fused) return;
        row.where = text_of(*(left ? left : right)->row, "where");
        const auto key = fmt::format("{}\n{}\n{} {}", left ? left->family : "",
                                     right ? right->family : "", row.a_fused, row.b_fused);
        const auto [at, fresh] = alike.try_emplace(key, out.size());
        if (fresh)
            out.push_back(std::move(row));
        else
            ++out[at->second].count;
    };
    const auto in_a = reported_patterns(a, same_graph);
    auto in_b = reported_patterns(b, same_graph);
    for (const auto& pattern : in_a) {
        const auto match = std::ranges::find(in_b, pattern.key, &ReportedPattern::key);
        add(&pattern, match == in_b.end() ? nullptr : &*match);
        if (match != in_b.end()) in_b.erase(match);
    }
    for (const auto& only_in_b : in_b) add(nullptr, &only_in_b);
    // First the patterns that are fused in both runs, then those only in a, then those only in b.
    std::ranges::stable_sort(out, {}, [](const report::ComparedPattern& row) {
        return row.a_fused && row.b_fused ? 0 : row.a_fused ? 1 : 2;
    });
    return out;
}

// The counts in the reports' model sections, which may be null.
std::vector<report::ComparedCount> agents(const ReportJson& a, const ReportJson& b) {
    if (!a.is_object() && !b.is_object()) return {};
    std::vector<report::ComparedCount> out;
    const auto number = [](const ReportJson& agent, const char* name) -> std::optional<double> {
        const auto at = agent.is_object() ? agent.find(name) : agent.end();
        if (!agent.is_object() || at == agent.end() || !at->is_number()) return std::nullopt;
        return at->get<double>();
    };
    const auto brought = [&](const ReportJson& agent) -> std::optional<double> {
        const auto share = agent.is_object() && agent.contains("brought")
                               ? number(agent["brought"], "share_of_eager")
                               : std::nullopt;
        return share ? std::optional(100 * *share) : std::nullopt;
    };
    for (const auto& [field, title] : {std::pair{"calls", "calls"},
                                       {"failed_calls", "calls without an answer"},
                                       {"retries", "retries"},
                                       {"tokens_in", "tokens in"},
                                       {"tokens_out", "tokens out"},
                                       {"seconds", "seconds of waiting"},
                                       {"dollars", "dollars"},
                                       {"named", "sets named"},
                                       {"refused", "refused"},
                                       {"first_compiled", "first texts that compiled"},
                                       {"accepted", "accepted"},
                                       {"verified", "verified on the GPU"},
                                       {"composed", "in the package"}})
        out.push_back({title, number(a, field), number(b, field)});
    out.push_back({"beyond the rules, % of eager's time", brought(a), brought(b)});
    return out;
}

report::Comparison compared(const ReadRun& a, const ReadRun& b) {
    report::Comparison out;
    out.a = described(a);
    out.b = described(b);
    const auto a_operators = operators(a.discovery), b_operators = operators(b.discovery);
    const bool same_graph = a_operators == b_operators;
    if (!same_graph)
        out.notes.push_back(fmt::format(
            "the modules differ ({} and {} operators): their times are for different work, "
            "and patterns are matched by their kernels",
            a_operators.size(), b_operators.size()));
    if (out.a.dtype != out.b.dtype)
        out.notes.push_back("the modules' element types differ, and so does what they compute");
    if (!out.a.device.empty() && !out.b.device.empty() && out.a.device != out.b.device)
        out.notes.push_back("the GPUs differ: the ratios also compare the GPUs");
    out.settings = differences(a, b);
    out.whole = whole_modules(a.report, b.report);
    if (out.whole.empty()) out.notes.push_back("the whole module was timed in neither run");
    out.patterns = patterns(a, b, same_graph);
    out.agent = agents(agent_of(a.report), agent_of(b.report));
    return out;
}

}  // namespace

Result<report::Comparison> compare_runs(const fs::path& a, const fs::path& b) {
    const auto left = read_run(a), right = read_run(b);
    if (!left) return left.error();
    if (!right) return right.error();
    auto both = decoding<report::Comparison>(
        fmt::format("the report of {} or that of {} is damaged", a.string(), b.string()),
        "run the same `fact optimize` again", [&] { return compared(*left, *right); });
    if (!both) return blame_input(both.error());
    return both;
}

}  // namespace fact::driver
