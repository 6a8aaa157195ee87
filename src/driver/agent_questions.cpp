#include "driver/agent_questions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/cuda_kernel.h"
#include "agent/interface.h"
#include "agent/look.h"
#include "agent/prompt.h"
#include "driver/action_requests.h"
#include "driver/examples.h"
#include "index/graph_features.h"
#include "support/files.h"

namespace fact::driver {

namespace {

std::filesystem::path prompt_file(const LoadedRun& loaded, const char* name) {
    return loaded.environment.root / "prompts" / name;
}

// In bytes, of examples and rule cards together: about as much as the examples of language.md.
constexpr std::size_t kMaxAdvice = 3'000;

// Without an index of examples, the question is asked without examples.
std::string examples_for(const LoadedRun& loaded, const TargetSet& wanted) {
    const auto found = find_related(index::graph_features(loaded.found.graph, wanted.set.nodes),
                                    {loaded.options.arch});
    return found ? in_prompt(*found, kMaxAdvice) : "(there are none)";
}

// What a kernel for the set can gain, in words.
std::string aim(const TargetSet& wanted) {
    if (!wanted.tell_bounds) return "the faster the better";
    return fmt::format("at best it takes {:.1f} us, its operators take {:.1f} us now",
                       wanted.cost.bound_us, wanted.now_us);
}

// The set's operators, one line each.
std::vector<std::string> operator_lines(const LoadedRun& loaded, const TargetSet& wanted) {
    const auto bounds = wanted.tell_bounds ? loaded.bounds : std::vector<sol::NodeBound>{};
    // Every operator has its line, so that operators and lines have the same indices.
    const auto looked =
        agent::look(loaded.found.graph, bounds, {.count = 1'000'000, .fold = false}).lines;
    std::vector<std::string> lines;
    for (const auto id : wanted.set.nodes) lines.push_back(looked[graph::index(id)]);
    return lines;
}

Result<std::string> cuda_question(const LoadedRun& loaded, const TargetSet& wanted) {
    const auto& graph = loaded.found.graph;
    const auto tensors = agent::cuda_tensors(graph, agent::interface_of(graph, wanted.set));
    return agent::fill_prompt(
        prompt_file(loaded, "write_cuda.md"),
        {{"operators", agent::bounded(operator_lines(loaded, wanted), 12'000)},
         {"tensors", agent::bounded(tensors, 12'000)},
         {"scratch", std::to_string(tensors.size())},  // its index: scratch memory comes last
         {"bound", aim(wanted)}});
}

}  // namespace

Result<std::string> find_question(const LoadedRun& loaded, int most, bool tell_bounds) {
    const auto bounds = tell_bounds ? loaded.bounds : std::vector<sol::NodeBound>{};
    const auto looked = agent::look(loaded.found.graph, bounds, {.count = 400});
    std::vector<std::string> patterns, left;
    for (const auto& pattern : loaded.found.discovery.patterns)
        patterns.push_back(
            fmt::format("{}: {}{}", pattern.id, fmt::join(pattern.nodes, ", "),
                        tell_bounds ? fmt::format(" (bound {:.1f} us, unfused {:.1f} us)",
                                                  pattern.cost.bound_us, pattern.cost.unfused_us)
                                    : ""));
    for (const auto& alone : loaded.found.discovery.left_alone)
        left.push_back(alone.node + ": " + alone.reason);
    return agent::fill_prompt(prompt_file(loaded, "find.md"),
                              {{"graph", agent::bounded(looked.lines, 24'000)},
                               {"patterns", agent::bounded(patterns, 6'000)},
                               {"left", agent::bounded(left, 4'000)},
                               {"most", fmt::to_string(most)}});
}

Result<std::string> write_question(const LoadedRun& loaded, const TargetSet& wanted) {
    if (wanted.cuda) return cuda_question(loaded, wanted);
    const auto& graph = loaded.found.graph;
    const auto language = read_file(loaded.environment.root / "docs" / "language.md");
    if (!language) return language.error();
    const auto interface = agent::interface_of(graph, wanted.set);
    std::vector<std::string> extents;
    for (const auto& [name, extent] : interface.extents)
        extents.push_back(fmt::format("{} = {}", name, extent));
    return agent::fill_prompt(
        prompt_file(loaded, "write.md"),
        {{"language", *language},
         {"operators", agent::bounded(operator_lines(loaded, wanted), 12'000)},
         {"kernel", agent::empty_kernel(wanted.id, graph, interface)},
         {"examples", examples_for(loaded, wanted)},
         {"extents", fmt::format("{}", fmt::join(extents, ", "))},
         {"bound", aim(wanted)}});
}

std::string diagnosis(const Json& reply, bool tell_bounds) {
    std::string text;
    const auto add = [&](const char* field) {
        if (reply.contains(field) && reply[field].is_string() &&
            !reply[field].get<std::string>().empty())
            text += reply[field].get<std::string>() + "\n";
    };
    // The reason before diagnostics, which may be warnings only: reports show the beginning.
    for (const auto* field : {"gamed", "why", "error", "rendered", "note", "hint"}) add(field);
    if (reply.contains("text_checks"))
        for (const auto& check : reply["text_checks"])
            if (!check.value("passed", true))
                text += fmt::format("{} inputs: {}\n", check.value("inputs", ""),
                                    check.value("why", ""));
    if (reply.contains("time_us") && reply.contains("cost"))
        text += fmt::format(
            "it takes {:.1f} us; torch takes {:.1f} us{}\n", reply["time_us"].get<double>(),
            reply.value("torch_us", 0.0),
            tell_bounds ? fmt::format(", the bound is {:.1f}", reply["cost"].value("bound_us", 0.0))
                        : "");
    for (const auto& stage : tell_bounds ? reply.value("stages", Json::array()) : Json::array())
        text += fmt::format("kernel that writes {} ({}): {}at best {:.1f} us, limited by {}\n",
                            stage.value("writes", ""), stage.value("kind", ""),
                            stage.contains("time_us")
                                ? fmt::format("takes {:.1f} us, ", stage["time_us"].get<double>())
                                : "",
                            stage.value("bound_us", 0.0), stage.value("limited_by", ""));
    for (const auto& hint : tell_bounds ? reply.value("advice", Json::array()) : Json::array())
        text += hint.get<std::string>() + "\n";
    return text;
}

Result<std::string> revise_question(const LoadedRun& loaded, const TargetSet& wanted,
                                    const std::string& text, const Json& reply) {
    auto prompt = write_question(loaded, wanted);
    if (!prompt) return prompt;
    const auto revision =
        agent::fill_prompt(prompt_file(loaded, wanted.cuda ? "revise_cuda.md" : "revise.md"),
                           {{"text", text}, {"diagnosis", diagnosis(reply, wanted.tell_bounds)}});
    if (!revision) return revision;
    *prompt += "\n" + *revision;
    return prompt;
}

}  // namespace fact::driver
