// Actions that write, withdraw and learn kernels for sets of operators; declared in
// driver/action_requests.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "agent/advice.h"
#include "agent/cuda_kernel.h"
#include "agent/proposal.h"
#include "compose/rewrite.h"
#include "driver/accepted.h"
#include "driver/action_requests.h"
#include "driver/compose.h"
#include "driver/learning.h"
#include "driver/realize.h"
#include "dsl/cuda_text.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace {

// What a text is written for.
struct Target {
    agent::NodeSet set;
    // Set if the tensors have other names than interface_of gives them.
    std::optional<agent::Interface> interface = {};
};

// The request names a proposal, or a pattern whose text is to be replaced. The tensors of a pattern
// keep the names that they have in its text.
Result<Target> target_of(const LoadedRun& loaded, const Json& request) {
    const auto& graph = loaded.found.graph;
    const auto id = text_field(request, "proposal", false);
    if (!id) return id.error();
    const auto pattern_id = text_field(request, "pattern", false);
    if (!pattern_id) return pattern_id.error();
    if (id->empty() == pattern_id->empty())
        return Error{"give either a 'proposal' or a 'pattern'", "see `fact act --list`", true};
    if (pattern_id->empty()) {
        auto set = find_proposal(loaded, *id);
        if (!set) return set.error();
        return Target{std::move(*set)};
    }
    const auto* pattern = find_pattern(loaded.found.discovery, *pattern_id);
    if (!pattern) return no_such_pattern(loaded.found.discovery, *pattern_id);
    auto set = agent::node_set(graph, pattern->nodes);
    if (!set) return set.error();
    auto interface = agent::with_kernel_names(agent::interface_of(graph, *set), graph,
                                              pattern->params, pattern->results);
    if (!interface) return interface.error();
    return Target{std::move(*set), std::move(*interface)};
}

Json checks_json(const std::vector<verify::Check>& checks) {
    Json list = Json::array();
    for (const auto& check : checks) {
        Json entry{{"inputs", check.distribution},
                   {"passed", check.passed},
                   {"error", check.kernel.largest},
                   {"torch_error", check.eager.largest}};
        if (!check.passed) entry["why"] = shortened(check.why);
        list.push_back(std::move(entry));
    }
    return list;
}

// All candidates; the winner is marked as "chosen".
Json candidates_json(const tune::Realization& realization) {
    Json list = Json::array();
    for (const auto& candidate : realization.candidates) {
        Json entry{{"name", candidate.name},
                   {"schedule", candidate.schedule},
                   {"outcome", verify::name(candidate.outcome)}};
        if (candidate.name == realization.winner) entry["chosen"] = true;
        if (!candidate.why.empty()) entry["why"] = shortened(candidate.why);
        if (candidate.registers > 0) {
            entry["registers"] = candidate.registers;
            entry["spill_bytes"] = candidate.spill_bytes;
        }
        if (candidate.expected_us > 0) entry["expected_us"] = candidate.expected_us;
        if (candidate.single.median_us > 0) entry["time_us"] = candidate.single.median_us;
        list.push_back(std::move(entry));
    }
    return list;
}

Json stages_json(const agent::MeasuredKernel& kernel) {
    Json list = Json::array();
    for (const auto& stage : kernel.stages) {
        Json entry{{"writes", stage.outputs},    {"kind", lower::describe(stage.kind)},
                   {"flops", stage.work.flops},  {"bytes", stage.work.bytes},
                   {"bound_us", stage.bound_us}, {"limited_by", agent::limit_of(stage)}};
        const double us = agent::time_of(stage, kernel.launches);
        if (us > 0) entry["time_us"] = us;
        list.push_back(std::move(entry));
    }
    return list;
}

// A finding which shows that a candidate cheats instead of doing its work; "" if there is none.
std::string gamed(const tune::Realization& realization) {
    using enum verify::Finding;
    for (const auto& candidate : realization.candidates)
        for (const auto trick : {faster_than_light, remembers_inputs, idle_when_timed})
            if (candidate.finding == trick)
                return fmt::format("{}: {}, which is taken for an attempt to game the checks",
                                   candidate.name, verify::name(trick));
    return {};
}

bool merges_dimensions(const match::Pattern& pattern) {
    return std::ranges::any_of(pattern.params, [](const graph::Binding& param) {
        return std::ranges::any_of(param.dims, [](const auto& group) { return group.size() > 1; });
    });
}

std::string extents_text(const match::Pattern& pattern) {
    std::vector<std::string> parts;
    for (const auto& [name, extent] : pattern.extents)
        parts.push_back(fmt::format("{} = {}", name, extent));
    return fmt::format("{}", fmt::join(parts, ", "));
}

// The message with the text's names of the outputs in place of the graph's, by which the proof
// names them: "t_softmax: largest error ..." instead of "softmax: largest error ...".
std::string with_text_names(const match::Pattern& pattern, std::string why) {
    for (const auto& result : pattern.results) {
        const auto at = why.rfind(result.value + ": ");
        if (at == std::string::npos || (at > 0 && why[at - 1] != ' ')) continue;
        return why.replace(at, result.value.size(), result.tensor);
    }
    return why;
}

void use_text_names(const match::Pattern& pattern, Json& reply) {
    const auto rename = [&](Json& part) {
        if (part.contains("why"))
            part["why"] = with_text_names(pattern, part["why"].get<std::string>());
    };
    rename(reply);
    for (const auto* list : {"text_checks", "candidates"})
        for (auto& part : reply[list]) rename(part);
}

// Adds the outcome of a text to the reply.
void add_outcome(const agent::Authored& authored, const tune::Realization& realization,
                 Json& reply) {
    const auto& cost = authored.pattern.cost;
    reply["accepted"] = realization.realized;
    reply["cost"] = cost_json(cost);
    reply["text_checks"] = checks_json(realization.text_checks);
    reply["candidates"] = candidates_json(realization);
    if (!realization.realized) {
        reply["why"] = shortened(realization.why);
        if (!realization.note.empty()) reply["note"] = shortened(realization.note);
        // A text whose dimensions were not read as its author meant them is wrong for that reason.
        if (merges_dimensions(authored.pattern))
            reply["hint"] = fmt::format(
                "the text's dimensions were taken for {}; a dimension that is not merged with a "
                "neighbour is recognised by the name it has in the proposal",
                extents_text(authored.pattern));
    }
    use_text_names(authored.pattern, reply);
    if (const auto trick = gamed(realization); !trick.empty()) reply["gamed"] = trick;
    agent::MeasuredKernel kernel{cost, authored.stages, 0, 0, 0};
    for (const auto& candidate : realization.candidates)
        if (candidate.name == realization.winner) {
            kernel.spill_bytes = candidate.spill_bytes;
            kernel.launches = candidate.launches;
        }
    reply["stages"] = stages_json(kernel);
    if (realization.measured) {
        reply["time_us"] = kernel.time_us = realization.single.median_us;
        reply["torch_us"] = kernel.torch_us = realization.baseline_single.median_us;
    } else if (realization.realized) {
        reply["note"] = fmt::format(
            "it computes the same as torch{} and compiles; without a GPU nothing is timed",
            realization.note.empty() ? "" : " (" + realization.note + ")");
    }
    if (realization.realized) reply["advice"] = agent::advice(kernel);
}

// Whether the kernel of the earlier text was timed and is at least as fast as the new one.
bool earlier_is_faster(const LoadedRun& loaded, const match::Pattern& before,
                       const tune::Realization& now) {
    const auto realizations = read_realizations(loaded.run, loaded.found.discovery);
    if (!realizations || !realizations->contains(before.family)) return false;
    const auto& earlier = realizations->at(before.family);
    return earlier.realized && earlier.measured && earlier.single.median_us <= now.single.median_us;
}

Result<> write_call(const LoadedRun& loaded, const match::Pattern& pattern) {
    const auto call = compose::make_call(loaded.found.graph, pattern);
    if (!call) return call.error();
    return write_file_atomic(loaded.run.call(pattern.id), graph::to_json(*call));
}

// Adds the pattern to those of the run, so that composing can choose it.
Result<> take_in(LoadedRun& loaded, const match::Pattern& pattern) {
    if (auto done = accept_pattern(loaded.run, pattern, loaded.found.discovery); !done) return done;
    return write_file_atomic(loaded.run.discovery(), match::to_json(loaded.found.discovery));
}

// Checks, interprets, compiles, proves and times the text; adds it to the run if it is accepted.
Result<Json> prove(LoadedRun& loaded, const Target& target, const std::string& text) {
    const auto id = agent::proposal_id(loaded.found.graph, target.set);
    Diagnostics diagnostics;
    auto authored = agent::author(loaded.found.graph, target.set, text, loaded.options, diagnostics,
                                  target.interface ? &*target.interface : nullptr);
    Json reply{{"proposal", id}, {"accepted", false}};
    if (!diagnostics.items().empty()) {
        reply["diagnostics"] = parse_json(render_json(diagnostics, id, text));
        reply["rendered"] = shortened(render_all(diagnostics, id, text));
    }
    if (!authored) {
        reply["why"] = authored.error().message;
        if (!authored.error().hint.empty()) reply["hint"] = authored.error().hint;
        return reply;
    }
    const auto& pattern = authored->pattern;
    if (auto written = write_call(loaded, pattern); !written) return written.error();
    match::Discovery only;
    only.patterns.push_back(pattern);
    const auto done = realize_stage(loaded.environment, loaded.run, only, loaded.realizing);
    if (!done) return done.error();
    const auto& realization = done->at(pattern.family);
    add_outcome(*authored, realization, reply);
    const auto* before = find_pattern(loaded.found.discovery, id);
    // If the families are equal, the same text was written again: there is nothing to compare.
    const bool slower = realization.realized && before && before->family != pattern.family &&
                        earlier_is_faster(loaded, *before, realization);
    if (slower) reply["note"] = "an earlier text for these operators is faster, and is kept";
    if (realization.realized && !slower) {
        if (auto taken = take_in(loaded, pattern); !taken) return taken.error();
    } else if (before) {  // the run continues with the earlier text
        if (auto kept = write_call(loaded, *before); !kept) return kept.error();
    }
    return reply;
}

}  // namespace

Result<Json> write(LoadedRun& loaded, const Json& request) {
    const auto text = text_field(request, "text", true);
    if (!text) return text.error();
    if (dsl::cuda_source(*text))
        return Error{"the text has to be in the kernel language, and this one is CUDA",
                     "only `fact optimize --agent-writes cuda` lets a model write CUDA", true};
    const auto target = target_of(loaded, request);
    if (!target) return target.error();
    return prove(loaded, *target, *text);
}

Result<Json> write_cuda(LoadedRun& loaded, const std::string& proposal, const std::string& source) {
    auto set = find_proposal(loaded, proposal);
    if (!set) return set.error();
    const auto& graph = loaded.found.graph;
    const auto text = agent::cuda_kernel(proposal, graph, agent::interface_of(graph, *set), source);
    if (!text) return text.error();
    auto reply = prove(loaded, {std::move(*set)}, *text);
    if (!reply || !reply->contains("candidates")) return reply;
    for (const auto& candidate : (*reply)["candidates"])
        if (candidate["outcome"] == "untried") (*reply)["unverified"] = true;
    return reply;
}

Result<Json> withdraw(LoadedRun& loaded, const Json& request) {
    const auto id = text_field(request, "proposal", true);
    if (!id) return id.error();
    const auto gone = withdraw_pattern(loaded.run, *id);
    if (!gone) return gone.error();
    if (!*gone)
        return Error{fmt::format("no text of proposal '{}' was accepted", *id),
                     "`patterns` lists the patterns of the run", true};
    remove_pattern(*id, loaded.found.graph, loaded.found.discovery);
    if (auto kept =
            write_file_atomic(loaded.run.discovery(), match::to_json(loaded.found.discovery));
        !kept)
        return kept.error();
    const auto removed = remove_packages_with(loaded.run, *id);
    if (!removed) return removed.error();
    Json reply{{"withdrawn", *id}, {"removed_packages", *removed}};
    if (!removed->empty()) reply["next"] = "`compose` writes the package without that kernel";
    return reply;
}

Result<Json> learn_rule(LoadedRun& loaded, const Json& request) {
    const auto id = text_field(request, "proposal", true);
    if (!id) return id.error();
    const auto* pattern = find_pattern(loaded.found.discovery, *id);
    if (!pattern || pattern->author != match::Author::agent)
        return Error{fmt::format("no text of proposal '{}' was accepted", *id), "`write` one first",
                     true};
    const auto settings = loaded.run.settings();
    if (!settings) return settings.error();
    const auto realizations = read_realizations(loaded.run, loaded.found.discovery);
    const bool has_result = realizations && realizations->contains(pattern->family);
    const auto rule =
        rule_from(loaded.found, *settings, *pattern,
                  has_result ? realizations->at(pattern->family) : tune::Realization{});
    if (!rule) return rule.error();
    if (auto kept = learn(loaded.environment.registry, *rule); !kept) return kept.error();
    return Json{{"rule", rule->name}, {"evidence", rule->evidence}};
}

}  // namespace fact::driver
