#include "report/agent.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fact::report {

std::string to_text(const Agent& agent) {
    if (agent.provider.empty()) return {};
    auto text = fmt::format(
        "the model ({}):\n  {} calls ({} failed), {} tokens in, {} out, {:.0f} s of waiting\n"
        "  sets of operators named {}, refused {}, with a proved kernel {}\n  stopped: {}\n",
        agent.provider, agent.calls, agent.failed_calls, agent.tokens_in, agent.tokens_out,
        agent.seconds, agent.named, agent.refused, agent.accepted, agent.stopped);
    for (const auto& row : agent.rows)
        text += fmt::format("  {}: {} operators at {}, {} {}, bound {:.1f} us: {}\n", row.id,
                            row.operators, row.where, row.attempts,
                            row.attempts == 1 ? "text" : "texts", row.bound_us, row.outcome);
    return text;
}

std::string to_json(const Agent& agent) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : agent.rows)
        rows.push_back({{"id", row.id},
                        {"where", row.where},
                        {"outcome", row.outcome},
                        {"operators", row.operators},
                        {"attempts", row.attempts},
                        {"first_compiled", row.first_compiled},
                        {"now_us", row.now_us},
                        {"bound_us", row.bound_us},
                        {"time_us", row.time_us},
                        {"tokens", row.tokens}});
    return nlohmann::json{{"provider", agent.provider},
                          {"calls", agent.calls},
                          {"failed_calls", agent.failed_calls},
                          {"tokens_in", agent.tokens_in},
                          {"tokens_out", agent.tokens_out},
                          {"seconds", agent.seconds},
                          {"named", agent.named},
                          {"refused", agent.refused},
                          {"accepted", agent.accepted},
                          {"stopped", agent.stopped},
                          {"proposals", rows}}
        .dump();
}

}  // namespace fact::report
