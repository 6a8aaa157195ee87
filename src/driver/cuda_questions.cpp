// What a language model is asked that writes CUDA.
#include "agent/cuda_kernel.h"
#include "agent/prompt.h"
#include "driver/action_requests.h"
#include "driver/agent_questions.h"

namespace fact::driver {

Result<std::string> write_cuda_question(const Desk& desk, const Wanted& wanted) {
    const auto& graph = desk.found.graph;
    const auto tensors = agent::cuda_tensors(graph, agent::interface_of(graph, wanted.set));
    return agent::fill_prompt(desk.environment.root / "prompts" / "write_cuda.md",
                              {{"operators", agent::bounded(operator_lines(desk, wanted), 12'000)},
                               {"tensors", agent::bounded(tensors, 12'000)},
                               {"scratch", std::to_string(tensors.size())},
                               {"bound", aim(wanted)}});
}

Result<std::string> revise_cuda_question(const Desk& desk, const Wanted& wanted,
                                         const std::string& source, const Json& reply) {
    auto prompt = write_cuda_question(desk, wanted);
    if (!prompt) return prompt;
    const auto revision =
        agent::fill_prompt(desk.environment.root / "prompts" / "revise_cuda.md",
                           {{"source", source}, {"diagnosis", diagnosis(reply, wanted.told)}});
    if (!revision) return revision;
    *prompt += "\n" + *revision;
    return prompt;
}

}  // namespace fact::driver
