// Who answers: a program that is given the prompt, or a transcript of answers given before.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "agent/transcript.h"
#include "support/result.h"
#include "support/subprocess.h"

namespace fact::agent {

class Provider {
  public:
    virtual ~Provider() = default;
    // An Error costs this question only; no answer within `patience` is one.
    virtual Result<Answer> ask(const Question& question, Seconds patience) = 0;
};

// What a program that answers writes to its standard output.
enum class Output {
    text,    // the answer
    object,  // {"text": ..., "tokens_in": ..., "tokens_out": ...} or {"error": ...}
};

// A program with the prompt on its standard input.
std::unique_ptr<Provider> command_provider(Command command, Output output = Output::text);

// Answers as they are in the file: the one to the same prompt, else the one about the same set and
// of the same attempt, else of the stage's the first that no other set had.
Result<std::unique_ptr<Provider>> replay_provider(const std::filesystem::path& transcript);

}  // namespace fact::agent
