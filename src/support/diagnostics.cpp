#include "support/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace fact {
namespace {

constexpr std::string_view name(Severity severity) {
    return severity == Severity::error ? "error" : "warning";
}

// The whole line that holds `offset`, without its newline.
std::string_view line_at(std::string_view text, std::size_t offset) {
    std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
}

// Replaces control characters, which could affect a terminal.
std::string printable(std::string_view line) {
    std::string shown(line);
    for (char& c : shown)
        if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f') c = '?';
    return shown;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

void Diagnostics::error(std::string_view code, Span at, std::string message, std::string fix) {
    items_.push_back({Severity::error, std::string(code), at, std::move(message), std::move(fix)});
}

void Diagnostics::warning(std::string_view code, Span at, std::string message, std::string fix) {
    items_.push_back(
        {Severity::warning, std::string(code), at, std::move(message), std::move(fix)});
}

bool Diagnostics::ok() const {
    return std::none_of(items_.begin(), items_.end(),
                        [](const Diagnostic& item) { return item.severity == Severity::error; });
}

LineColumn locate(std::string_view text, std::uint32_t offset) {
    std::string_view before = text.substr(0, offset);
    std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
    return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
            1 + static_cast<int>(before.size() - line_begin)};
}

std::string render(const Diagnostic& diagnostic, std::string_view name, std::string_view text) {
    std::size_t begin = std::min<std::size_t>(diagnostic.span.begin, text.size());
    auto [line, column] = locate(text, static_cast<std::uint32_t>(begin));
    std::string_view source = line_at(text, begin);

    // Of a very long line, only the part around the span is shown.
    constexpr std::size_t kWidest = 160;
    std::size_t before = static_cast<std::size_t>(column - 1);
    const bool cut = source.size() > kWidest && before > kWidest / 2;
    source = source.substr(cut ? before - kWidest / 2 : 0, kWidest);
    if (cut) before = kWidest / 2;

    // Tabs are kept in front of the caret so that it lands under its character.
    std::string margin;
    for (char c : source.substr(0, before)) margin += c == '\t' ? '\t' : ' ';
    std::size_t length = std::max<std::size_t>(diagnostic.span.end, begin + 1) - begin;
    length = std::min(length, std::max<std::size_t>(source.size() - before, 1));

    std::string number = std::to_string(line);
    std::string result =
        fmt::format("{}:{}:{}: {}[{}]: {}\n", name, line, column, fact::name(diagnostic.severity),
                    diagnostic.code, diagnostic.message);
    result += fmt::format(" {} | {}\n", number, printable(source));
    result += fmt::format(" {:{}} | {}{}\n", "", number.size(), margin, std::string(length, '^'));
    if (!diagnostic.fix.empty())
        result += fmt::format(" {:{}} = help: {}\n", "", number.size(), diagnostic.fix);
    return result;
}

std::string render_all(const Diagnostics& diagnostics, std::string_view name,
                       std::string_view text) {
    std::string result;
    for (const Diagnostic& item : diagnostics.items()) result += render(item, name, text);
    return result;
}

std::string render_json(const Diagnostics& diagnostics, std::string_view name,
                        std::string_view text) {
    auto result = nlohmann::ordered_json::array();
    for (const Diagnostic& item : diagnostics.items()) {
        auto begin = locate(text, item.span.begin);
        auto end = locate(text, item.span.end);
        result.push_back({{"code", item.code},
                          {"severity", fact::name(item.severity)},
                          {"file", name},
                          {"line", begin.line},
                          {"column", begin.column},
                          {"end_line", end.line},
                          {"end_column", end.column},
                          {"begin", item.span.begin},
                          {"end", item.span.end},
                          {"message", item.message},
                          {"fix", item.fix}});
    }
    // A source text may contain bytes that are not UTF-8; they must not make the report fail.
    return result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
    // For longer words or more candidates a suggestion would cost time and be of little use.
    constexpr std::size_t kLongest = 64, kMost = 1000;
    // A third of the word may be wrong; more than that is a different word.
    std::size_t best = std::max<std::size_t>(word.size() / 3, 1) + 1;
    std::string result;
    for (std::size_t i = 0; i < std::min(candidates.size(), kMost); ++i) {
        const std::string& candidate = candidates[i];
        if (word.size() > kLongest || candidate.size() > kLongest) continue;
        std::size_t distance = edit_distance(word, candidate);
        // A candidate all of whose letters would have to change is no suggestion.
        if (distance < best && distance < candidate.size()) {
            best = distance;
            result = candidate;
        }
    }
    return result;
}

}  // namespace fact
