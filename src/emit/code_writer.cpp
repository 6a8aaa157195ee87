#include "emit/code_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace fact::emit {

namespace {
constexpr int kIndent = 4;
constexpr std::size_t kMaxColumns = 100;
}  // namespace

void CodeWriter::line(std::string_view text, std::string_view origin) {
    if (!text.empty()) text_.append(static_cast<std::size_t>(depth_ * kIndent), ' ');
    text_ += text;
    if (!origin.empty()) text_ += fmt::format("  // {}", origin);
    text_ += '\n';
}

CodeWriter::Block::Block(CodeWriter& writer, std::string closing)
    : writer_(writer), closing_(std::move(closing)) {
    ++writer_.depth_;
}

CodeWriter::Block::~Block() {
    --writer_.depth_;
    writer_.line("}" + closing_);
}

CodeWriter::Block CodeWriter::block(std::string_view text, std::string_view closing,
                                    std::string_view origin) {
    line(fmt::format("{} {{", text), origin);
    return Block(*this, std::string(closing));
}

void CodeWriter::list(std::string_view head, const std::vector<std::string>& items,
                      std::string_view tail) {
    const std::size_t indent = static_cast<std::size_t>(depth_ * kIndent);
    std::string current(head);
    const std::string continuation(head.size(), ' ');
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string item =
            items[i] + (i + 1 < items.size() ? std::string(",") : std::string(tail));
        const bool at_start = i == 0 || current.back() == ' ';
        if (!at_start && indent + current.size() + 1 + item.size() > kMaxColumns) {
            line(current);
            current = continuation + item;
        } else {
            current += (at_start ? "" : " ") + item;
        }
    }
    line(items.empty() ? current + std::string(tail) : current);
}

std::string identifier(std::string_view name) {
    static const std::set<std::string_view> kReserved{
        "alignas",  "and",      "asm",    "auto",    "bool",      "break",     "case",
        "catch",    "char",     "class",  "const",   "constexpr", "continue",  "default",
        "delete",   "do",       "double", "else",    "enum",      "explicit",  "export",
        "extern",   "false",    "float",  "for",     "friend",    "goto",      "half",
        "if",       "inline",   "int",    "long",    "mutable",   "namespace", "new",
        "not",      "operator", "or",     "private", "protected", "public",    "register",
        "return",   "short",    "signed", "sizeof",  "static",    "struct",    "switch",
        "template", "this",     "throw",  "true",    "try",       "typedef",   "typename",
        "union",    "unsigned", "using",  "virtual", "void",      "volatile",  "while",
        "xor"};
    return kReserved.contains(name) ? fmt::format("{}_", name) : std::string(name);
}

std::string float_literal(double value) {
    const float narrow = static_cast<float>(value);
    if (std::isnan(narrow)) return "NAN";
    if (std::isinf(narrow)) return narrow > 0 ? "INFINITY" : "-INFINITY";
    std::string text = fmt::format("{}", narrow);
    if (text.find_first_of(".e") == std::string::npos) text += ".";
    return text + "f";
}

}  // namespace fact::emit
