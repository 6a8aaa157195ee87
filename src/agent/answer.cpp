#include "agent/answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "support/json_fields.h"

namespace fact::agent {

namespace {

using Json = nlohmann::json;

// In bytes: no sensible answer is longer.
constexpr std::size_t kLongestAnswer = 1 << 17;
// Braces that begin no such object as is looked for: each costs a pass over the rest of the answer.
constexpr int kMostMisses = 256;

// The text from the brace at `begin` to the brace that closes it; "" if it is never closed.
std::string balanced(const std::string& text, std::size_t begin) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = begin; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
            continue;
        }
        if (c == '"') quoted = true;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return text.substr(begin, i + 1 - begin);
    }
    return {};
}

Result<> check_length(const std::string& answer) {
    if (answer.size() <= kLongestAnswer) return Ok{};
    return Error{
        fmt::format("the answer has {} bytes; the limit is {}", answer.size(), kLongestAnswer),
        "answer only what was asked for", true};
}

// The list under `key` of the last complete object that has one.
std::optional<Json> find_list(const std::string& answer, const char* key) {
    std::optional<Json> found;
    int misses = 0;
    for (auto at = answer.find('{'); at != std::string::npos && misses < kMostMisses;) {
        const auto text = balanced(answer, at);
        const auto json = try_parse_json(text);
        const bool has =
            json && json->is_object() && json->contains(key) && (*json)[key].is_array();
        if (has) found = (*json)[key];
        misses += !has;
        at = answer.find('{', at + (has ? text.size() : 1));
    }
    return found;
}

// The beginning of a part of the answer, for a message.
std::string quoted(const Json& part) {
    auto text = part.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 60) + "...";
    return text;
}

// Reads a list of names into `names`; returns what is wrong with it, or "".
std::string read_names(const Json& list, std::vector<std::string>& names) {
    if (!list.is_array()) return fmt::format("{} is not a list of names", quoted(list));
    if (list.empty()) return "the list of names is empty";
    for (const auto& entry : list)
        if (!entry.is_string()) return fmt::format("{} is not a name", quoted(entry));
    names = list.get<std::vector<std::string>>();
    return {};
}

}  // namespace

Result<std::vector<ProposedSet>> read_proposals(const std::string& answer) {
    if (auto fine = check_length(answer); !fine) return fine.error();
    const auto list = find_list(answer, "proposals");
    if (!list)
        return Error{"the answer holds no JSON object with \"proposals\"",
                     "answer {\"proposals\": [{\"nodes\": [...], \"why\": ...}]} and nothing else",
                     true};
    std::vector<ProposedSet> found;
    for (const auto& entry : *list) {
        ProposedSet named;
        if (!entry.is_object() || !entry.contains("nodes"))
            named.mistake = fmt::format("{} is not an object with \"nodes\"", quoted(entry));
        else
            named.mistake = read_names(entry["nodes"], named.nodes);
        if (entry.is_object())
            if (const auto why = entry.find("why"); why != entry.end() && why->is_string())
                named.why = why->get<std::string>().substr(0, 400);
        found.push_back(std::move(named));
    }
    return found;
}

Result<std::vector<PatternSet>> read_sets(const std::string& answer) {
    if (auto fine = check_length(answer); !fine) return fine.error();
    const auto list = find_list(answer, "sets");
    if (!list)
        return Error{"the answer holds no JSON object with \"sets\"",
                     "answer {\"sets\": [[\"pattern\", ...], ...]} and nothing else", true};
    std::vector<PatternSet> sets;
    for (const auto& entry : *list) {
        sets.emplace_back();
        sets.back().mistake = read_names(entry, sets.back().patterns);
    }
    return sets;
}

Result<std::string> read_code_block(const std::string& answer) {
    if (auto fine = check_length(answer); !fine) return fine.error();
    const std::string fence = "```";
    if (const auto end = answer.rfind(fence); end != std::string::npos && end > 0) {
        const auto begin = answer.rfind(fence, end - 1);
        if (begin != std::string::npos) {
            auto text = answer.substr(begin + fence.size(), end - begin - fence.size());
            text.erase(0, text.find('\n') == std::string::npos ? 0 : text.find('\n') + 1);
            if (!text.empty()) return text;
        }
    }
    return Error{"the answer holds no code block", "answer with one code block", true};
}

Result<std::string> read_kernel_text(const std::string& answer) {
    if (auto fine = check_length(answer); !fine) return fine.error();
    if (auto block = read_code_block(answer)) return block;
    const auto at = answer.find("kernel ");
    if (at != std::string::npos) return answer.substr(at);
    return Error{"the answer holds no kernel text", "answer with one code block", true};
}

bool gives_up(const std::string& answer) {
    const auto begin = answer.find_first_not_of(" \t\r\n`*\"");
    return begin != std::string::npos && answer.compare(begin, 4, "STOP") == 0 &&
           answer.find('{') == std::string::npos;
}

}  // namespace fact::agent
