#include "agent/transcript.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/files.h"
#include "support/json_fields.h"

namespace fact::agent {

namespace {

using Json = nlohmann::json;

// In bytes: shorter values occur by chance, and so do words and numbers unless they are longer.
constexpr std::size_t kShortestSecret = 8;
constexpr std::size_t kLongestWord = 20;

// Whether an environment variable of this name holds a secret: a part of it, between underscores,
// ends in such a word (MY_APIKEY, not KEYMAP), and it does not say where the secret is.
bool holds_secret(std::string_view name) {
    constexpr std::string_view kWords[] = {"KEY", "TOKEN", "SECRET", "PASSWORD"};
    constexpr std::string_view kPlaces[] = {"FILE", "PATH", "DIR", "URL"};
    bool secret = false;
    while (!name.empty()) {
        const auto part = name.substr(0, name.find('_'));
        name.remove_prefix(std::min(part.size() + 1, name.size()));
        secret |= std::ranges::any_of(kWords, [&](auto word) { return part.ends_with(word); });
        if (name.empty() && std::ranges::find(kPlaces, part) != std::end(kPlaces)) return false;
    }
    return secret;
}

// Whether a value is so unusual that it can be replaced wherever it occurs.
bool is_secret(std::string_view value) {
    if (value.size() < kShortestSecret) return false;
    const auto all = [](std::string_view text, int (*kind)(int)) {
        return std::ranges::all_of(text, [&](unsigned char c) { return kind(c) != 0; });
    };
    const bool word = all(value, std::isupper) ||
                      (all(value.substr(0, 1), std::isalpha) && all(value.substr(1), std::islower));
    return value.size() > kLongestWord || !(word || all(value, std::isdigit));
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

// `where`: the beginning of the message if it is no line of a transcript.
Result<Exchange> read_line(const std::string& line, const std::string& where) {
    return decoding<Exchange>(where + "not a line of a transcript",
                              "transcripts are written by `fact optimize --agent`",
                              [&] { return exchange_from(parse_json(line)); });
}

// Ends a last line that has no end: a whole one gets its newline, one that was cut off is dropped.
Result<> end_last_line(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (!stream || stream.tellg() == 0) return Ok{};
    stream.seekg(-1, std::ios::end);
    if (stream.get() == '\n') return Ok{};
    const auto text = read_file(file);
    if (!text) return text.error();
    const auto begin = text->rfind('\n') + 1;  // 0 if there is none
    if (read_line(text->substr(begin), "")) return append_to_file(file, "\n");
    std::error_code failure;
    std::filesystem::resize_file(file, begin, failure);
    if (failure) return file_error("write", file, failure.value());
    return Ok{};
}

}  // namespace

std::string redacted(std::string text) {
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view variable(*entry);
        const auto equals = variable.find('=');
        if (equals == std::string_view::npos || !holds_secret(variable.substr(0, equals))) continue;
        const auto secret = variable.substr(equals + 1);
        if (!is_secret(secret)) continue;
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
    if (auto ended = end_last_line(file); !ended) return ended;
    return append_to_file(file, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<std::vector<Exchange>> read_transcript(const std::filesystem::path& file,
                                              std::string* warning) {
    const auto text = read_file(file);
    if (!text) return blame_input(text.error());
    std::vector<Exchange> all;
    std::size_t begin = 0, number = 1;
    for (; begin < text->size(); ++number) {
        const auto end = std::min(text->find('\n', begin), text->size());
        const auto line = text->substr(begin, end - begin);
        begin = end + 1;
        if (line.empty()) continue;
        const auto where = fmt::format("{}:{}: ", file.string(), number);
        auto exchange = read_line(line, where);
        if (!exchange && end == text->size() && !all.empty()) {
            if (warning) *warning = where + "the last line was cut off and is ignored";
            break;
        }
        if (!exchange) return blame_input(exchange.error());
        all.push_back(std::move(*exchange));
    }
    return all;
}

}  // namespace fact::agent
