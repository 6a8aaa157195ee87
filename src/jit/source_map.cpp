#include "jit/source_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>

namespace fact::jit {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// Line `number`, counted from 1, without the blanks around it; "" if there is none.
std::string_view line_at(const std::vector<std::string_view>& lines, int number) {
    if (number < 1 || static_cast<std::size_t>(number) > lines.size()) return {};
    std::string_view line = lines[static_cast<std::size_t>(number) - 1];
    const auto begin = line.find_first_not_of(" \t");
    if (begin == line.npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
}

// A line number of at most nine digits, so that no log can overflow it; 0 otherwise.
int number_in(std::string_view digits) {
    int number = 0;
    if (digits.size() > 9) return 0;
    const auto [stop, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return failure == std::errc() && stop == digits.data() + digits.size() ? number : 0;
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0: all of it
}

// 46 for "at line 46 of kernel.cu", which nvcc writes under an error in a template; 0 for any other
// line, or if `file` is not the one that it names.
int instantiated_at(std::string_view line, std::string_view file) {
    constexpr std::string_view kBefore = "at line ", kBetween = " of ";
    const auto at = line.find(kBefore);
    if (at == line.npos) return 0;
    line.remove_prefix(at + kBefore.size());
    const auto between = line.find(kBetween);
    if (between == line.npos) return 0;
    std::string_view name = line.substr(between + kBetween.size());
    while (!name.empty() && (name.front() == '"' || name.front() == ' ')) name.remove_prefix(1);
    name = name.substr(0, name.find_first_of("\" "));
    return base_name(name) == file ? number_in(line.substr(0, between)) : 0;
}

// Reads "kernel.cu(12): error: x" or "a.cuh(3): fatal error #20-D: x"; false for any other line.
bool read_error(std::string_view line, CompilerError& error, std::string& path, int& number) {
    constexpr std::size_t kLongest = 2000;  // std::regex recurses: a longer line is cut first
    static const std::regex pattern(
        R"(^(.*)\((\d+)\): (?:catastrophic |fatal )?error(?: #[0-9A-Za-z-]+)?: (.*)$)");
    const std::string text(line.substr(0, kLongest));
    std::smatch found;
    if (!std::regex_match(text, found, pattern)) return false;
    path = found[1];
    number = number_in(found[2].str());
    error.message = found[3];
    error.place = fmt::format("{}({})", base_name(path), found[2].str());
    return true;
}

}  // namespace

std::optional<Origin> origin_of(std::string_view line) {
    const auto comment = line.rfind("// ");
    if (comment == line.npos) return std::nullopt;
    std::string_view marker = line.substr(comment + 3);
    marker = marker.substr(0, marker.find_last_not_of(" \t\r") + 1);
    const auto colon = marker.rfind(':');
    if (colon == marker.npos || colon == 0) return std::nullopt;
    const int number = number_in(marker.substr(colon + 1));
    if (number < 1) return std::nullopt;
    return Origin{std::string(marker.substr(0, colon)), number};
}

std::string without_origins(std::string_view emitted) {
    std::string plain;
    while (!emitted.empty()) {
        const std::string_view line = emitted.substr(0, emitted.find('\n'));
        const bool marked = origin_of(line).has_value();
        const std::string_view code = marked ? line.substr(0, line.rfind("// ")) : line;
        plain += marked ? code.substr(0, code.find_last_not_of(" \t") + 1) : code;
        emitted.remove_prefix(line.size());
        if (!emitted.empty()) plain += '\n', emitted.remove_prefix(1);
    }
    return plain;
}

std::vector<CompilerError> errors_in(std::string_view log, std::string_view emitted,
                                     std::string_view file) {
    const auto source = lines_of(emitted);
    std::vector<CompilerError> errors;
    bool in_header = false;  // the last error is in a header, and lines after it may say more
    for (const std::string_view line : lines_of(log)) {
        CompilerError error;
        std::string path;
        int number = 0;
        if (read_error(line, error, path, number)) {
            in_header = base_name(path) != file;
            if (!in_header) error.emitted_line = number;
            errors.push_back(std::move(error));
        } else if (in_header) {
            // The outermost instantiation is named last.
            if (const int at = instantiated_at(line, file)) errors.back().emitted_line = at;
        }
    }
    for (CompilerError& error : errors)
        error.origin = origin_of(line_at(source, error.emitted_line));
    return errors;
}

std::string report_errors(std::string_view log, std::string_view emitted, const KernelText& kernel,
                          std::string_view file, std::size_t most) {
    const auto errors = errors_in(log, emitted, file);
    const auto source = lines_of(emitted), text = lines_of(kernel.text);
    std::string report;
    for (std::size_t i = 0; i < std::min(errors.size(), most); ++i) {
        const CompilerError& error = errors[i];
        if (error.origin) {
            report += fmt::format("{}:{}: error: {}\n", error.origin->file, error.origin->line,
                                  error.message);
            if (base_name(error.origin->file) == base_name(kernel.name))
                report += fmt::format("  {} | {}\n", error.origin->line,
                                      line_at(text, error.origin->line));
        } else {
            report += fmt::format("{}: error: {}\n", error.place, error.message);
        }
        if (const auto line = line_at(source, error.emitted_line); !line.empty())
            report += fmt::format("  {}:{} | {}\n", file, error.emitted_line, line);
    }
    if (errors.size() > most) report += fmt::format("and {} more\n", errors.size() - most);
    if (!report.empty()) report.pop_back();
    return report;
}

}  // namespace fact::jit
