#include "support/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fact {

namespace {

// Three significant digits without an exponent.
std::string digits(double value) {
    if (value >= 100) return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
    return align == Align::left ? fmt::format("{:<{}}", cell, width)
                                : fmt::format("{:>{}}", cell, width);
}

}  // namespace

std::string Table::text(std::string_view indent, bool ruled) const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = columns_[c].title.size();
        for (const auto& row : rows_)
            if (c < row.size()) width = std::max(width, row[c].size());
        widths.push_back(width);
    }
    std::string out;
    const auto line = [&](const auto& cell) {
        std::string text{indent};
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (c) text += "  ";
            text += padded(cell(c), widths[c], columns_[c].align);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    };
    line([&](std::size_t c) { return columns_[c].title; });
    if (ruled) line([&](std::size_t c) { return std::string(widths[c], '-'); });
    for (const auto& row : rows_)
        line([&](std::size_t c) { return c < row.size() ? row[c] : std::string{}; });
    return out;
}

std::string duration(double microseconds) {
    if (microseconds < 1) return fmt::format("{:.0f} ns", microseconds * 1e3);
    if (microseconds < 1e3) return digits(microseconds) + " us";
    if (microseconds < 1e6) return digits(microseconds / 1e3) + " ms";
    return digits(microseconds / 1e6) + " s";
}

std::string quantity(double value) {
    constexpr std::array prefixes{"", "k", "M", "G", "T", "P"};
    std::size_t step = 0;
    for (; value >= 1000 && step + 1 < prefixes.size(); ++step) value /= 1000;
    return step == 0 ? fmt::format("{:.0f}", value)
                     : fmt::format("{} {}", digits(value), prefixes[step]);
}

std::string one_line(std::string_view text, std::size_t width) {
    std::string out;
    for (const char c : text) {
        const bool blank = c == '\n' || c == '\t' || c == ' ';
        if (!blank) out += c;
        if (blank && !out.empty() && out.back() != ' ') out += ' ';
    }
    out.erase(out.find_last_not_of(' ') + 1);
    if (out.size() > width) out = out.substr(0, width - 3) + "...";
    return out;
}

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace fact
