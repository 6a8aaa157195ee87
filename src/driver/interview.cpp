#include "driver/interview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "support/subprocess.h"

namespace fact::driver {

namespace {

constexpr Seconds kPatience{300};  // the longest wait for one answer

// The parts before and after the first colon: "openai" and the model's name.
std::pair<std::string, std::string> halves(const std::string& provider) {
    const auto colon = provider.find(':');
    if (colon == std::string::npos) return {provider, ""};
    return {provider.substr(0, colon), provider.substr(colon + 1)};
}

Result<std::unique_ptr<agent::Provider>> make_provider(const Environment& environment,
                                                       const std::string& provider) {
    const auto [kind, name] = halves(provider);
    if (kind == "replay") return agent::replay_provider(name);
    if (kind == "command") {
        Command shell;
        shell.argv = {"/bin/sh", "-c", name};
        return agent::command_provider(std::move(shell));
    }
    return agent::command_provider(python_module(environment, "fact.agent_client", {kind, name}),
                                   agent::Output::object);
}

// Whether the shell finds the program that a command begins with. A command that begins with
// anything but a plain word is not looked at: only the shell can tell what it runs.
Result<> check_program(const std::string& command) {
    const auto begin = command.find_first_not_of(" \t");
    const auto end = std::min(command.find_first_of(" \t", begin), command.size());
    const auto word = begin == std::string::npos ? "" : command.substr(begin, end - begin);
    if (word.empty())
        return Error{"--agent command: names no program", "give command:PROGRAM", true};
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) || c > 127 || strchr("_-./+", c);
    };
    if (!std::ranges::all_of(word, plain)) return Ok{};
    Command shell;
    shell.argv = {"/bin/sh", "-c", "command -v -- \"$1\"", "sh", word};
    shell.deadline = Seconds(10);
    const auto exit = run(shell);
    if (!exit) return exit.error();
    if (exit->ok()) return Ok{};
    return Error{fmt::format("the program {} of --agent was not found", word),
                 "give its path, or the name of a program in PATH", true};
}

// Whether the package of the provider's API is installed and a key is set.
Result<> check_api(const Environment& environment, const std::string& provider) {
    const auto exit = run(python_module(environment, "fact.agent_client", {"check", provider}));
    if (!exit) return exit.error();
    if (exit->ok()) return Ok{};
    if (auto missing = bad_input_of(*exit)) return *missing;
    return Error{fmt::format("{} cannot be asked: {}", provider, exit->err.substr(0, 1000)),
                 fmt::format("check that {} can be started", environment.python)};
}

Result<> check_transcript(const std::string& file) {
    std::string warning;
    if (const auto read = agent::read_transcript(file, &warning); !read) return read.error();
    if (!warning.empty()) fmt::print(stderr, "warning: {}\n", warning);
    return Ok{};
}

}  // namespace

Result<> check_agent(const Environment& environment, const AgentRequest& request) {
    const auto [kind, name] = halves(request.provider);
    if (kind == "rules" && name.empty()) {
        if (!request.alone && !request.cuda && request.bounds) return Ok{};
        return Error{
            "--agent-alone, --agent-writes and --agent-bounds need a model, and none is "
            "named",
            "name it with --agent", true};
    }
    const std::set<std::string> kinds{"command", "replay", "openai", "anthropic"};
    if (!kinds.contains(kind) || name.empty())
        return Error{fmt::format("--agent {} names no agent", request.provider),
                     "give rules, openai:MODEL, anthropic:MODEL, command:PROGRAM or replay:FILE",
                     true};
    if (kind == "replay") return check_transcript(name);
    if (kind == "command") return check_program(name);
    return check_api(environment, kind);
}

Result<Interview> Interview::begin(const Environment& environment, const RunFolder& run,
                                   const AgentRequest& request, report::Agent& counted) {
    auto provider = make_provider(environment, request.provider);
    if (!provider) return provider.error();
    return Interview(run, request, std::move(*provider), counted);
}

bool Interview::out_of_budget(const std::string& prompt) {
    const auto used = counted_.total();
    const int next = agent::estimated_tokens(prompt);
    if (used.calls >= request_.calls)
        counted_.stopped =
            used.calls == 1 ? "1 call was made" : fmt::format("{} calls were made", used.calls);
    else if (used.tokens() >= request_.tokens)
        counted_.stopped = fmt::format("{} tokens were used", used.tokens());
    else if (used.tokens() + next > request_.tokens)
        counted_.stopped = fmt::format("only {} tokens are left, and the next question needs {}",
                                       request_.tokens - used.tokens(), next);
    else if (counted_.elapsed = elapsed(); counted_.elapsed >= request_.seconds)
        counted_.stopped = fmt::format("{:.0f} s were used", request_.seconds);
    else
        return false;
    return true;
}

double Interview::elapsed() const {
    return before_ + Seconds(Clock::now() - started_).count();
}

Result<std::string> Interview::ask(agent::Question question) {
    const Seconds left{std::max(1.0, request_.seconds - elapsed())};
    const auto asked = Clock::now();
    const auto answer = provider_->ask(question, std::min(kPatience, left));
    if (interrupted()) return Error{"interrupted", ""};
    agent::Exchange exchange{std::move(question), {}, ""};
    if (answer) {
        exchange.answer = *answer;
    } else {
        exchange.error = agent::redacted(answer.error().message);
        exchange.answer.seconds = Seconds(Clock::now() - asked).count();
        last_failure_ = exchange.error;
    }
    count(exchange);
    const auto file = run_.path() / "agent" / "transcript.jsonl";
    if (auto kept = agent::append_transcript(file, exchange); !kept) return kept.error();
    return exchange.answer.text;
}

void Interview::count(const agent::Exchange& exchange) {
    const auto& [question, answer, error] = exchange;
    const report::AgentUse use{1,
                               !error.empty(),
                               answer.tokens_in,
                               answer.tokens_out,
                               answer.seconds,
                               answer.other_prompt};
    const bool again = question.attempt > 0;
    counted_.retries += again;
    counted_.stage(again && question.stage == "write" ? "revise" : question.stage) += use;
    by_set_[question.about] += use;
}

}  // namespace fact::driver
