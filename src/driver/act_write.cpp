// Actions that propose sets of operators and write kernels for them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "agent/cuda_kernel.h"
#include "agent/proposal.h"
#include "compose/rewrite.h"
#include "driver/accepted.h"
#include "driver/action_requests.h"
#include "driver/learning.h"
#include "driver/realize.h"
#include "dsl/cuda_text.h"
#include "support/files.h"

namespace fact::driver {

namespace {

Json tensors_json(const graph::Graph& graph, const std::vector<agent::Tensor>& tensors) {
    Json list = Json::array();
    for (const auto& tensor : tensors) {
        const auto& type = *graph[tensor.value].type;
        Json dims = Json::array();
        for (std::size_t i = 0; i < tensor.dims.size(); ++i) {
            const auto d = static_cast<std::size_t>(tensor.dims[i]);
            dims.push_back({{"name", tensor.dim_names[i]},
                            {"extent", type.sizes[d]},
                            {"stride", type.strides[d]}});
        }
        Json one{{"name", tensor.name},
                 {"value", graph[tensor.value].name},
                 {"type", info(type.dtype).name},
                 {"dims", dims},
                 {"weight", tensor.constant}};
        if (!tensor.contiguous)
            one["note"] = "its innermost dimension is not contiguous: kernels cannot read it so";
        list.push_back(std::move(one));
    }
    return list;
}

Result<agent::NodeSet> proposed(const Desk& desk, const std::string& id) {
    const auto file = desk.run.path() / "agent" / "proposals" / (id + ".json");
    const bool plain =
        std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    const auto text = plain ? read_file(file) : Result<std::string>(Error{"", ""});
    if (!text) return Error{fmt::format("there is no proposal '{}'", id), "`propose` first", true};
    const auto json = Json::parse(*text, nullptr, false);
    if (!json.is_object())
        return Error{file.string() + " is damaged", "propose the same operators again", true};
    const auto names = names_field(json, "nodes");
    if (!names) return names.error();
    return agent::node_set(desk.found.graph, *names);
}

Json checks_json(const std::vector<verify::Check>& checks) {
    Json list = Json::array();
    for (const auto& check : checks) {
        Json one{{"inputs", check.distribution},
                 {"passed", check.passed},
                 {"error", check.kernel.largest},
                 {"torch_error", check.eager.largest}};
        if (!check.passed) one["why"] = shortened(check.why);
        list.push_back(std::move(one));
    }
    return list;
}

Json candidates_json(const std::vector<tune::CandidateResult>& candidates) {
    Json list = Json::array();
    for (const auto& candidate : candidates) {
        Json one{{"name", candidate.name},
                 {"schedule", candidate.schedule},
                 {"outcome", verify::name(candidate.outcome)}};
        if (!candidate.why.empty()) one["why"] = shortened(candidate.why);
        if (candidate.registers > 0) {
            one["registers"] = candidate.registers;
            one["spill_bytes"] = candidate.spill_bytes;
        }
        if (candidate.single.median_us > 0) one["time_us"] = candidate.single.median_us;
        list.push_back(std::move(one));
    }
    return list;
}

// The kernel of an earlier text for the same operators, where that was timed and is the faster one.
std::optional<match::Pattern> faster_before(const Desk& desk, const match::Pattern& pattern,
                                            const tune::Realization& now) {
    const auto& patterns = desk.found.discovery.patterns;
    const auto before = std::ranges::find(patterns, pattern.id, &match::Pattern::id);
    if (before == patterns.end() || before->family == pattern.family) return std::nullopt;
    const auto known = read_realizations(desk.run, desk.found.discovery);
    if (!known || !known->contains(before->family)) return std::nullopt;
    const auto& then = known->at(before->family);
    if (!then.realized || !then.measured || then.single.median_us > now.single.median_us)
        return std::nullopt;
    return *before;
}

// The pattern among those of the run, so that composing can choose it.
Result<> take_in(Desk& desk, const match::Pattern& pattern) {
    if (auto done = accept_pattern(desk.run, pattern, desk.found.discovery); !done) return done;
    return write_file_atomic(desk.run.discovery(), match::to_json(desk.found.discovery));
}

Result<Json> prove(Desk& desk, const std::string& id, const agent::NodeSet& set,
                   const std::string& text);

}  // namespace

Result<Json> propose(Desk& desk, const Json& request) {
    const auto names = names_field(request, "nodes");
    if (!names) return names.error();
    const auto& graph = desk.found.graph;
    const auto set = agent::node_set(graph, *names);
    if (!set) return set.error();
    const auto interface = agent::interface_of(graph, *set);
    const auto id = agent::proposal_id(graph, *set);
    Json nodes = Json::array();
    for (const auto node : set->nodes) nodes.push_back(graph[node].name);
    const Json kept{{"id", id}, {"nodes", nodes}};
    if (auto done = write_file_atomic(desk.run.path() / "agent" / "proposals" / (id + ".json"),
                                      kept.dump(1) + "\n");
        !done)
        return done.error();
    return Json{{"proposal", id},
                {"nodes", nodes},
                {"parameters", tensors_json(graph, interface.params)},
                {"outputs", tensors_json(graph, interface.results)},
                {"kernel", agent::empty_kernel(id, graph, interface)},
                {"cost", cost_json(agent::cost_of(graph, *set, desk.options))}};
}

Result<Json> write(Desk& desk, const Json& request) {
    const auto id = text_field(request, "proposal", true);
    if (!id) return id.error();
    const auto text = text_field(request, "text", true);
    if (!text) return text.error();
    if (dsl::cuda_source(*text)) return Error{"texts are in the kernel language", "", true};
    const auto set = proposed(desk, *id);
    if (!set) return set.error();
    return prove(desk, *id, *set, *text);
}

Result<Json> write_cuda(Desk& desk, const std::string& proposal, const std::string& source) {
    const auto set = proposed(desk, proposal);
    if (!set) return set.error();
    const auto& graph = desk.found.graph;
    const auto text = agent::cuda_kernel(proposal, graph, agent::interface_of(graph, *set), source);
    if (!text) return text.error();
    auto reply = prove(desk, proposal, *set, *text);
    if (!reply || !reply->contains("candidates")) return reply;
    for (const auto& candidate : (*reply)["candidates"])
        if (candidate["outcome"] == "untried") (*reply)["unverified"] = true;
    return reply;
}

namespace {

Result<Json> prove(Desk& desk, const std::string& id, const agent::NodeSet& set,
                   const std::string& text) {
    Diagnostics diagnostics;
    auto pattern = agent::pattern_of(desk.found.graph, set, text, desk.options, diagnostics);
    Json reply{{"proposal", id}, {"accepted", false}};
    if (!diagnostics.items().empty()) {
        reply["diagnostics"] = Json::parse(render_json(diagnostics, id, text), nullptr, false);
        reply["rendered"] = shortened(render_all(diagnostics, id, text));
    }
    if (!pattern) {
        reply["why"] = pattern.error().message;
        reply["hint"] = pattern.error().hint;
        return reply;
    }
    const auto call = compose::make_call(desk.found.graph, *pattern);
    if (!call) return call.error();
    if (auto done = write_file_atomic(desk.run.call(pattern->id), graph::to_json(*call)); !done)
        return done.error();
    match::Discovery only;
    only.patterns.push_back(*pattern);
    const auto done = realize_stage(desk.environment, desk.run, only, {});
    if (!done) return done.error();
    const auto& realization = done->at(pattern->family);
    reply["accepted"] = realization.realized;
    reply["cost"] = cost_json(pattern->cost);
    reply["text_checks"] = checks_json(realization.text_checks);
    reply["candidates"] = candidates_json(realization.candidates);
    if (!realization.realized) reply["why"] = shortened(realization.why);
    if (realization.measured) {
        reply["time_us"] = realization.single.median_us;
        reply["torch_us"] = realization.baseline_single.median_us;
    } else if (realization.realized) {
        reply["note"] =
            "it computes the same as torch and compiles; without a GPU nothing is timed";
    }
    if (!realization.realized) return reply;
    if (const auto before = faster_before(desk, *pattern, realization)) {
        reply["note"] = "an earlier text for these operators is faster, and is kept";
        const auto again = compose::make_call(desk.found.graph, *before);
        if (!again) return again.error();
        auto kept = write_file_atomic(desk.run.call(before->id), graph::to_json(*again));
        if (!kept) return kept.error();
        return reply;
    }
    if (auto taken = take_in(desk, *pattern); !taken) return taken.error();
    return reply;
}

}  // namespace

Result<Json> learn_rule(Desk& desk, const Json& request) {
    const auto id = text_field(request, "proposal", true);
    if (!id) return id.error();
    const auto& patterns = desk.found.discovery.patterns;
    const auto pattern = std::ranges::find(patterns, *id, &match::Pattern::id);
    if (pattern == patterns.end())
        return Error{fmt::format("no text of proposal '{}' was accepted", *id), "`write` one first",
                     true};
    const auto settings = desk.run.settings();
    if (!settings) return settings.error();
    const auto known = read_realizations(desk.run, desk.found.discovery);
    const bool there = known && known->contains(pattern->family);
    const auto rule = rule_from(desk.found, *settings, *pattern,
                                there ? known->at(pattern->family) : tune::Realization{});
    if (!rule) return rule.error();
    if (auto kept = learn(desk.environment.registry, *rule); !kept) return kept.error();
    return Json{{"rule", rule->name}, {"evidence", rule->evidence}};
}

}  // namespace fact::driver
