#include "agent/transcript.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/files.h"
#include "support/json_fields.h"

namespace fact::agent {

namespace {

using Json = nlohmann::json;

// In bytes: shorter values may be ordinary words.
constexpr std::size_t kShortestSecret = 8;

// Whether an environment variable of this name holds a secret.
bool holds_secret(std::string_view name) {
    for (const auto* part : {"KEY", "TOKEN", "SECRET", "PASSWORD"})
        if (name.find(part) != std::string_view::npos) return true;
    return false;
}

Exchange exchange_from(const Json& json) {
    Exchange exchange;
    exchange.question.stage = get_text(json, "stage");
    exchange.question.about = get_text(json, "about", "");
    exchange.question.attempt = get_int(json, "attempt", 0);
    exchange.question.prompt = get_text(json, "prompt", "");
    exchange.answer.text = get_text(json, "answer");
    exchange.answer.tokens_in = get_int(json, "tokens_in", 0);
    exchange.answer.tokens_out = get_int(json, "tokens_out", 0);
    exchange.answer.seconds = get_finite(json, "seconds", 0);
    exchange.error = get_text(json, "error", "");
    return exchange;
}

}  // namespace

std::string redacted(std::string text) {
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view variable(*entry);
        const auto equals = variable.find('=');
        if (equals == std::string_view::npos || !holds_secret(variable.substr(0, equals))) continue;
        const auto secret = variable.substr(equals + 1);
        if (secret.size() < kShortestSecret) continue;
        for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
            text.replace(at, secret.size(), "[redacted]");
    }
    return text;
}

int estimated_tokens(const std::string& text) {
    return static_cast<int>((text.size() + 3) / 4);
}

Result<> append_transcript(const std::filesystem::path& file, const Exchange& exchange) {
    const auto& [question, answer, error] = exchange;
    const Json json{{"stage", question.stage},         {"about", question.about},
                    {"attempt", question.attempt},     {"prompt", redacted(question.prompt)},
                    {"answer", redacted(answer.text)}, {"tokens_in", answer.tokens_in},
                    {"tokens_out", answer.tokens_out}, {"seconds", answer.seconds},
                    {"error", redacted(error)}};
    return append_to_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<std::vector<Exchange>> read_transcript(const std::filesystem::path& file) {
    const auto text = read_file(file);
    if (!text) return blame_input(text.error());
    std::vector<Exchange> all;
    std::size_t begin = 0, number = 1;
    for (; begin < text->size(); ++number) {
        const auto end = std::min(text->find('\n', begin), text->size());
        const auto line = text->substr(begin, end - begin);
        begin = end + 1;
        if (line.empty()) continue;
        auto exchange = decoding<Exchange>(
            fmt::format("{}:{}: not a line of a transcript", file.string(), number),
            "transcripts are written by `fact optimize --agent`",
            [&] { return exchange_from(parse_json(line)); });
        if (!exchange) return blame_input(exchange.error());
        all.push_back(std::move(*exchange));
    }
    return all;
}

}  // namespace fact::agent
