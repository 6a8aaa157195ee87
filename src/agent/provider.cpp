#include "agent/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact::agent {

namespace {

using Json = nlohmann::json;

// In bytes: answers are far shorter, but a program might never stop writing.
constexpr std::size_t kLongestOutput = 4 << 20;

class CommandProvider : public Provider {
  public:
    CommandProvider(Command command, Output output)
        : command_(std::move(command)), output_(output) {}

    Result<Answer> ask(const Question& question, Seconds patience) override {
        Command command = command_;
        command.input = question.prompt;
        command.deadline = patience;
        command.max_output = kLongestOutput;
        const auto exit = run(command);
        if (!exit) return exit.error();
        if (exit->wrote_too_much)
            return Error{fmt::format("the answer has more than {} MB", kLongestOutput >> 20), ""};
        if (exit->timed_out)
            return Error{fmt::format("no answer within {:.0f} s", command.deadline->count()), ""};
        if (!exit->ok())
            return Error{fmt::format("the answering program ended with {}{}{}",
                                     exit->signal ? fmt::format("signal {}", exit->signal)
                                                  : fmt::format("exit code {}", exit->code),
                                     exit->err.empty() ? "" : ": ", exit->err.substr(0, 1000)),
                         ""};
        if (exit->out.find_first_not_of(" \t\r\n") == std::string::npos)
            return Error{"the answer is empty", ""};
        Answer answer{exit->out, estimated_tokens(question.prompt), estimated_tokens(exit->out),
                      exit->seconds};
        if (output_ == Output::text) return answer;
        return unpacked(std::move(answer));
    }

  private:
    static Result<Answer> unpacked(Answer answer) {
        const auto json = try_parse_json(answer.text).value_or(Json());
        const auto text_of = [&](const char* name) -> const std::string* {
            const auto at = json.is_object() ? json.find(name) : json.end();
            return at == json.end() ? nullptr : at->get_ptr<const std::string*>();
        };
        const auto count_of = [&](const char* name, int if_missing) {
            const auto at = json.find(name);
            const bool usable = at != json.end() && at->is_number_unsigned() &&
                                at->get<std::uint64_t>() < 1'000'000'000;
            return usable ? at->get<int>() : if_missing;
        };
        if (const auto* error = text_of("error")) return Error{*error, ""};
        const auto* text = text_of("text");
        if (!text) return Error{"the client's answer has neither \"text\" nor \"error\"", ""};
        answer.text = *text;
        answer.tokens_in = count_of("tokens_in", answer.tokens_in);
        answer.tokens_out = count_of("tokens_out", estimated_tokens(*text));
        return answer;
    }

    Command command_;
    Output output_;
};

// A set may have another id than when it was recorded: ids depend on the names of operators, which
// another version of torch may change.
class ReplayProvider : public Provider {
  public:
    explicit ReplayProvider(std::vector<Exchange> exchanges)
        : exchanges_(std::move(exchanges)), given_(exchanges_.size(), Given::not_yet) {}

    Result<Answer> ask(const Question& question, Seconds) override {
        const auto prompt = redacted(question.prompt);  // as it was recorded
        const auto matched = recorded_as_.find(question.about);
        const auto& about = matched == recorded_as_.end() ? question.about : matched->second;
        const auto about_same_set = [&](const Question& asked) {
            return asked.about == about && asked.attempt == question.attempt;
        };
        // By order: an unused answer, about a recorded set that no other set was matched with.
        const auto next_unused = [&](const Question& asked) {
            return asked.attempt == question.attempt &&
                   (matched == recorded_as_.end() ? !taken(asked.about) : asked.about == about);
        };
        auto at = find(question.stage, Given::by_order,
                       [&](const Question& asked) { return asked.prompt == prompt; });
        if (at == exchanges_.size()) at = find(question.stage, Given::by_order, about_same_set);
        const bool by_order = at == exchanges_.size();
        if (by_order) at = find(question.stage, Given::not_yet, next_unused);
        if (at == exchanges_.size())
            return Error{
                fmt::format("the transcript has no answer to {}{}{} (attempt {})", question.stage,
                            question.about.empty() ? "" : " ", question.about, question.attempt),
                ""};
        given_[at] = by_order ? Given::by_order : Given::for_good;
        recorded_as_.try_emplace(question.about, exchanges_[at].question.about);
        if (!exchanges_[at].error.empty()) return Error{exchanges_[at].error, ""};
        auto answer = exchanges_[at].answer;
        answer.other_prompt = exchanges_[at].question.prompt != prompt;
        return answer;
    }

  private:
    // An answer given by order alone may turn out to belong to another question.
    enum class Given { not_yet, by_order, for_good };

    // The first exchange of the stage that fits and was given no more firmly than `most`; the
    // number of exchanges if there is none.
    std::size_t find(const std::string& stage, Given most, const auto& fits) const {
        std::size_t at = 0;
        while (at < exchanges_.size() &&
               (given_[at] > most || exchanges_[at].question.stage != stage ||
                !fits(exchanges_[at].question)))
            ++at;
        return at;
    }

    // Whether a set was matched with the recorded set `about`.
    bool taken(const std::string& about) const {
        return std::ranges::any_of(recorded_as_,
                                   [&](const auto& pair) { return pair.second == about; });
    }

    std::vector<Exchange> exchanges_;
    std::vector<Given> given_;
    std::map<std::string, std::string> recorded_as_;  // by a set's id now: its id in the transcript
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
