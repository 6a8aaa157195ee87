// Where answers come from: a program that is given the prompt, or a transcript of earlier answers.
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
    // An Error concerns this question only; no answer within `patience` is one.
    virtual Result<Answer> ask(const Question& question, Seconds patience) = 0;
};

// What an answering program writes to its standard output.
enum class Output {
    text,    // the answer
    object,  // {"text": ..., "tokens_in": ..., "tokens_out": ...} or {"error": ...}
};

// Runs a program with the prompt on its standard input.
std::unique_ptr<Provider> command_provider(Command command, Output output = Output::text);

// Answers from the file: the recorded answer to the same prompt, else to the same attempt about the
// same set of operators, else the first unused one of the same stage and attempt that belongs to no
// other set.
Result<std::unique_ptr<Provider>> replay_provider(const std::filesystem::path& transcript);

}  // namespace fact::agent
