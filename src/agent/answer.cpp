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

// The list under `key` of the first object that has one. Several braces are tried, since an answer
// may have others before that object.
std::optional<Json> find_list(const std::string& answer, const char* key) {
    int tries = 0;
    for (auto at = answer.find('{'); at != std::string::npos && tries < 32;
         at = answer.find('{', at + 1), ++tries) {
        const auto json = try_parse_json(balanced(answer, at));
        if (json && json->is_object() && json->contains(key) && (*json)[key].is_array())
            return (*json)[key];
    }
    return std::nullopt;
}

// Those entries of a list that are strings.
std::vector<std::string> strings_in(const Json& list) {
    std::vector<std::string> all;
    for (const auto& entry : list)
        if (entry.is_string()) all.push_back(entry.get<std::string>());
    return all;
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
        if (!entry.is_object() || !entry.contains("nodes") || !entry["nodes"].is_array()) continue;
        ProposedSet named{strings_in(entry["nodes"]), ""};
        if (const auto why = entry.find("why"); why != entry.end() && why->is_string())
            named.why = why->get<std::string>().substr(0, 400);
        if (!named.nodes.empty()) found.push_back(std::move(named));
    }
    return found;
}

Result<std::vector<std::vector<std::string>>> read_sets(const std::string& answer) {
    if (auto fine = check_length(answer); !fine) return fine.error();
    const auto list = find_list(answer, "sets");
    if (!list)
        return Error{"the answer holds no JSON object with \"sets\"",
                     "answer {\"sets\": [[\"pattern\", ...], ...]} and nothing else", true};
    std::vector<std::vector<std::string>> sets;
    for (const auto& entry : *list)
        if (entry.is_array())
            if (auto names = strings_in(entry); !names.empty()) sets.push_back(std::move(names));
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
