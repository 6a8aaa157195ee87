#include "agent/provider.h"

#include <fmt/format.h>

namespace fact::agent {

namespace {

class CommandProvider : public Provider {
  public:
    explicit CommandProvider(Command command) : command_(std::move(command)) {}

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
        return Answer{exit->out, estimated_tokens(question.prompt), estimated_tokens(exit->out),
                      exit->seconds};
    }

  private:
    Command command_;
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

std::unique_ptr<Provider> command_provider(Command command) {
    return std::make_unique<CommandProvider>(std::move(command));
}

Result<std::unique_ptr<Provider>> replay_provider(const std::filesystem::path& transcript) {
    auto exchanges = read_transcript(transcript);
    if (!exchanges) return exchanges.error();
    return std::unique_ptr<Provider>(std::make_unique<ReplayProvider>(std::move(*exchanges)));
}

}  // namespace fact::agent
