#include "agent/prompt.h"

#include <fmt/format.h>

#include "support/files.h"

namespace fact::agent {

namespace {

constexpr std::size_t kMaxValueBytes = 40'000;

}  // namespace

Result<std::string> fill_prompt(const std::filesystem::path& file, const Places& places) {
    const auto text = read_file(file);
    if (!text) return text.error();
    std::string out;
    std::size_t at = 0;
    while (at < text->size()) {
        const auto open = text->find("{{", at);
        const auto close = open == std::string::npos ? open : text->find("}}", open);
        if (close == std::string::npos) break;
        out += text->substr(at, open - at);
        const auto name = text->substr(open + 2, close - open - 2);
        const std::string* value = nullptr;
        for (const auto& [placeholder, replacement] : places)
            if (placeholder == name) value = &replacement;
        if (!value)
            return Error{fmt::format("{}: there is no value for {{{{{}}}}}", file.string(), name),
                         "remove that placeholder from the file"};
        out += value->size() > kMaxValueBytes
                   ? value->substr(0, kMaxValueBytes) + "\n... (cut here)"
                   : *value;
        at = close + 2;
    }
    return out + text->substr(at);
}

std::string bounded(const std::vector<std::string>& lines, std::size_t max_bytes) {
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (out.size() + lines[i].size() > max_bytes)
            return out + fmt::format("... and {} more", lines.size() - i);
        out += lines[i] + "\n";
    }
    if (!out.empty()) out.pop_back();
    return out;
}

}  // namespace fact::agent
