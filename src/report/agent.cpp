#include "report/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/table.h"

namespace fact::report {

namespace {

using AgentJson = nlohmann::json;

AgentJson json_of(const AgentUse& use, const std::optional<AgentPrice>& price) {
    return {{"calls", use.calls},
            {"failed_calls", use.failed},
            {"tokens_in", use.tokens_in},
            {"tokens_out", use.tokens_out},
            {"seconds", use.seconds},
            {"other_prompts", use.other_prompts},
            {"dollars", price ? AgentJson(use.dollars(*price)) : AgentJson()}};
}

std::vector<Column> use_columns(const Agent& agent, std::vector<Column> before) {
    before.insert(before.end(), {{"calls", Align::right},
                                 {"failed", Align::right},
                                 {"tokens in", Align::right},
                                 {"out", Align::right},
                                 {"waiting", Align::right}});
    if (agent.price) before.push_back({"cost", Align::right});
    return before;
}

std::vector<std::string> use_cells(const Agent& agent, const AgentUse& use,
                                   std::vector<std::string> before) {
    before.insert(before.end(), {std::to_string(use.calls), std::to_string(use.failed),
                                 std::to_string(use.tokens_in), std::to_string(use.tokens_out),
                                 fmt::format("{:.0f} s", use.seconds)});
    if (agent.price) before.push_back(dollars_text(use.dollars(*agent.price)));
    return before;
}

std::string stage_table(const Agent& agent) {
    Table table(use_columns(agent, {{"stage"}}));
    for (const auto& stage : agent.stages) table.row(use_cells(agent, stage.use, {stage.name}));
    table.row(use_cells(agent, agent.total(), {"all"}));
    return table.text();
}

std::string result_of(const AgentRow& row) {
    if (!row.accepted()) return one_line(row.outcome, 100);
    return fmt::format("accepted, {}{}", row.verified ? "verified, " : "",
                       row.composed ? "in the package" : "not in the package");
}

std::string row_table(const Agent& agent) {
    auto columns = use_columns(
        agent,
        {{"set of operators"}, {"operators", Align::right}, {"source"}, {"texts", Align::right}});
    columns.insert(columns.end(), {{"time", Align::right}, {"bound", Align::right}, {"result"}});
    Table table(std::move(columns));
    for (const auto& row : agent.rows) {
        auto cells = use_cells(
            agent, row.use,
            {row.id, std::to_string(row.operators), row.where, std::to_string(row.texts.size())});
        cells.insert(cells.end(),
                     {row.time_us > 0 ? duration(row.time_us) : "-",
                      row.bound_us > 0 ? duration(row.bound_us) : "-", result_of(row)});
        table.row(std::move(cells));
    }
    return table.empty() ? "" : table.text();
}

std::string gain_text(const AgentGain& gain) {
    return fmt::format(
        "  beyond the rules: {:.1f} % of eager's time ({} with the model's kernels, {} with the "
        "rules' alone, eager {})\n",
        100 * gain.share(), duration(gain.composed.median_us), duration(gain.rules.median_us),
        duration(gain.eager.median_us));
}

AgentJson json_of(const AgentGain& gain) {
    return {{"eager_us", gain.eager.median_us},
            {"composed_us", gain.composed.median_us},
            {"rules_us", gain.rules.median_us},
            {"saved_us", gain.saved_us()},
            {"share_of_eager", gain.share()}};
}

int count(const std::vector<AgentRow>& rows, bool AgentRow::* flag) {
    return static_cast<int>(std::ranges::count(rows, true, flag));
}

}  // namespace

AgentUse& AgentUse::operator+=(const AgentUse& other) {
    calls += other.calls;
    failed += other.failed;
    tokens_in += other.tokens_in;
    tokens_out += other.tokens_out;
    seconds += other.seconds;
    other_prompts += other.other_prompts;
    return *this;
}

AgentUse Agent::total() const {
    AgentUse all;
    for (const auto& stage : stages) all += stage.use;
    return all;
}

AgentUse& Agent::stage(const std::string& name) {
    const auto at = std::ranges::find(stages, name, &AgentStage::name);
    return at != stages.end() ? at->use : stages.emplace_back(AgentStage{name, {}}).use;
}

int Agent::first_compiled() const {
    return count(rows, &AgentRow::first_compiled);
}
int Agent::verified() const {
    return count(rows, &AgentRow::verified);
}
int Agent::composed() const {
    return count(rows, &AgentRow::composed);
}

std::string dollars_text(double dollars) {
    if (dollars <= 0) return "$0";
    const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(dollars))), 2, 6);
    return fmt::format("${:.{}f}", dollars, digits);
}

std::string to_text(const Agent& agent) {
    if (agent.provider.empty()) return {};
    auto text = fmt::format("the model ({}{}{}):\n", agent.provider,
                            agent.writes == "cuda" ? ", writing CUDA" : "",
                            agent.bounds ? "" : ", not told the bounds") +
                stage_table(agent);
    text += fmt::format(
        "  sets of operators named {}, refused {}; kernels accepted {}, of them verified on the "
        "GPU {}, in the package {}; first texts that compiled {}, retries {}\n",
        agent.named, agent.refused, agent.accepted, agent.verified(), agent.composed(),
        agent.first_compiled(), agent.retries);
    if (const int others = agent.total().other_prompts)
        text += fmt::format(
            "  {} replayed to other prompts than they were recorded for: prompts, names of "
            "operators or what was measured have changed\n",
            counted(static_cast<std::size_t>(others), "answer"));
    for (const auto& line : agent.compositions)
        text += "  another set of patterns for the package: " + line + "\n";
    if (agent.brought) text += gain_text(*agent.brought);
    return text + fmt::format("  stopped: {}\n", agent.stopped) + row_table(agent);
}

namespace {

AgentJson texts_json(const std::vector<AgentText>& texts) {
    auto list = AgentJson::array();
    for (const auto& text : texts)
        list.push_back({{"accepted", text.accepted},
                        {"time_us", text.time_us > 0 ? AgentJson(text.time_us) : AgentJson()},
                        {"tokens", text.tokens}});
    return list;
}

}  // namespace

AgentJson json_of(const Agent& agent) {
    auto stages = AgentJson::array(), proposals = AgentJson::array();
    for (const auto& stage : agent.stages) {
        stages.push_back(json_of(stage.use, agent.price));
        stages.back()["stage"] = stage.name;
    }
    for (const auto& row : agent.rows) {
        auto proposal = json_of(row.use, agent.price);
        proposal.update({{"id", row.id},
                         {"where", row.where},
                         {"outcome", row.outcome},
                         {"operators", row.operators},
                         {"texts", texts_json(row.texts)},
                         {"first_compiled", row.first_compiled},
                         {"accepted", row.accepted()},
                         {"verified", row.verified},
                         {"composed", row.composed},
                         {"now_us", row.now_us},
                         {"bound_us", row.bound_us},
                         {"time_us", row.time_us > 0 ? AgentJson(row.time_us) : AgentJson()}});
        proposals.push_back(std::move(proposal));
    }
    auto all = json_of(agent.total(), agent.price);
    all.update(
        {{"provider", agent.provider},
         {"writes", agent.writes},
         {"bounds", agent.bounds ? "on" : "off"},
         {"price", agent.price ? AgentJson{{"in", agent.price->in}, {"out", agent.price->out}}
                               : AgentJson()},
         {"stages", stages},
         {"retries", agent.retries},
         {"named", agent.named},
         {"refused", agent.refused},
         {"accepted", agent.accepted},
         {"first_compiled", agent.first_compiled()},
         {"verified", agent.verified()},
         {"composed", agent.composed()},
         {"compositions", agent.compositions},
         {"brought", agent.brought ? json_of(*agent.brought) : AgentJson()},
         {"stopped", agent.stopped},
         {"proposals", proposals}});
    return all;
}

}  // namespace fact::report
