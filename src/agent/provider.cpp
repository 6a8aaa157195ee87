#include "agent/provider.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fact::agent {

namespace {

using Json = nlohmann::json;

class CommandProvider : public Provider {
  public:
    CommandProvider(Command command, Output output)
        : command_(std::move(command)), output_(output) {}

    Result<Answer> ask(const Question& question) override {
        Command command = command_;
        command.input = question.prompt;
        const auto exit = run(command);
        if (!exit) return exit.error();
        if (exit->timed_out)
            return Error{fmt::format("no answer within {:.0f} s", command.deadline->count()), ""};
        if (!exit->ok())
            return Error{fmt::format("the program that answers ended with {}: {}",
                                     exit->signal ? fmt::format("signal {}", exit->signal)
                                                  : fmt::format("exit code {}", exit->code),
                                     exit->err.substr(0, 1000)),
                         ""};
        Answer answer{exit->out, estimated_tokens(question.prompt), estimated_tokens(exit->out),
                      exit->seconds};
        if (output_ == Output::text) return answer;
        return unpacked(std::move(answer));
    }

  private:
    static Result<Answer> unpacked(Answer answer) {
        const auto json = Json::parse(answer.text, nullptr, false);
        const auto text_of = [&](const char* name) -> const std::string* {
            const auto at = json.is_object() ? json.find(name) : json.end();
            return at == json.end() ? nullptr : at->get_ptr<const std::string*>();
        };
        const auto count_of = [&](const char* name, int otherwise) {
            const auto at = json.find(name);
            const bool plain = at != json.end() && at->is_number_unsigned() &&
                               at->get<std::uint64_t>() < 1'000'000'000;
            return plain ? at->get<int>() : otherwise;
        };
        if (const auto* error = text_of("error")) return Error{*error, ""};
        const auto* text = text_of("text");
        if (!text) return Error{"the client answered neither text nor error", ""};
        answer.text = *text;
        answer.tokens_in = count_of("tokens_in", answer.tokens_in);
        answer.tokens_out = count_of("tokens_out", estimated_tokens(*text));
        return answer;
    }

    Command command_;
    Output output_;
};

class ReplayProvider : public Provider {
  public:
    explicit ReplayProvider(std::vector<Exchange> exchanges) : exchanges_(std::move(exchanges)) {}

    Result<Answer> ask(const Question& question) override {
        for (const auto& [asked, answer, error] : exchanges_) {
            if (asked.stage != question.stage || asked.about != question.about ||
                asked.attempt != question.attempt)
                continue;
            if (!error.empty()) return Error{error, ""};
            return answer;
        }
        return Error{fmt::format("the transcript has no answer to {} {} (attempt {})",
                                 question.stage, question.about, question.attempt),
                     ""};
    }

  private:
    std::vector<Exchange> exchanges_;
};

}  // namespace

std::unique_ptr<Provider> command_provider(Command command, Output output) {
    return std::make_unique<CommandProvider>(std::move(command), output);
}

Result<std::unique_ptr<Provider>> replay_provider(const std::filesystem::path& transcript) {
    auto exchanges = read_transcript(transcript);
    if (!exchanges) return exchanges.error();
    return std::unique_ptr<Provider>(std::make_unique<ReplayProvider>(std::move(*exchanges)));
}

}  // namespace fact::agent
