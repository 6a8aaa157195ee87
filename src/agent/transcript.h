// Questions and answers, one JSON object per line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/result.h"

namespace fact::agent {

struct Question {
    std::string stage;  // "find", "write" or "compose"
    std::string about;  // the proposal's id; "" for the whole module
    int attempt = 0;    // how often it was asked before
    std::string prompt;
};

struct Answer {
    std::string text;
    int tokens_in = 0, tokens_out = 0;  // estimated if the provider did not count them
    double seconds = 0;
    bool other_prompt = false;  // replayed from a transcript in which the prompt was another
};

struct Exchange {
    Question question;
    Answer answer;
    std::string error;  // why there was no answer
};

// Values of environment variables that hold keys are redacted.
// A last line that was cut off when a process was killed is dropped first.
Result<> append_transcript(const std::filesystem::path& file, const Exchange& exchange);
// A last line that was cut off is ignored, and `warning` says so; any other line that cannot be
// read is an Error.
Result<std::vector<Exchange>> read_transcript(const std::filesystem::path& file,
                                              std::string* warning = nullptr);

// An estimate of what models count: four characters per token.
int estimated_tokens(const std::string& text);

// The text with every secret of the environment redacted: values of variables that are named after
// keys or passwords, unless they are short, a word or a number, which may occur in any text.
std::string redacted(std::string text);

}  // namespace fact::agent
