#include <fmt/format.h>

#include <algorithm>

#include "dsl/dsl.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "dsl/precedence.h"

namespace fact::dsl {
namespace {

struct Line {
    std::vector<Token> tokens;
    std::size_t indent = 0;
    bool blank_before = false;
    bool assigns = false;    // starts a statement of a kernel
    bool schedule = false;   // inside a schedule block
    bool continues = false;  // the line before ended with an operand: a sign here is an operator
};

bool opens(const Token& token) {
    return token.is("(") || token.is("[");
}
bool closes(const Token& token) {
    return token.is(")") || token.is("]");
}

bool is_operand_end(const Token& token) {
    return (token.kind != TokenKind::symbol && !is_operator_word(token.text)) || closes(token);
}

// Cuts the tokens into lines: the text's own, and one for each end of a block.
class LineSplitter {
  public:
    LineSplitter(std::string_view text, const std::vector<Token>& tokens)
        : text_(text), tokens_(tokens) {}

    std::vector<Line> run() {
        for (std::size_t i = 0; tokens_[i].kind != TokenKind::end; ++i) {
            const Token& token = tokens_[i];
            const bool ends_block = token.is("}") && braces_ == 1;
            if (token.starts_line || ends_block || (broken_ && token.kind != TokenKind::comment))
                begin_line(i);
            broken_ = false;
            lines_.back().tokens.push_back(token);
            brackets_ += opens(token) - closes(token);
            if (token.is("schedule") && braces_ == 0 && lines_.back().tokens.size() == 1)
                in_schedule_ = true;
            if (token.is("kernel") && braces_ == 0 && lines_.back().tokens.size() == 1)
                in_schedule_ = false;
            if (token.is("{") && braces_++ == 0) broken_ = true;
            if (token.is("}") && --braces_ == 0) broken_ = true, header_ = false;
        }
        return std::move(lines_);
    }

  private:
    void begin_line(std::size_t i) {
        const Token& token = tokens_[i];
        Line line;
        const std::size_t from = i ? tokens_[i - 1].span.end : 0;
        const auto between = text_.substr(from, token.span.begin - from);
        const bool after_open = i && braces_ == 1 && tokens_[i - 1].is("{");
        line.blank_before = i && !after_open && !token.is("}") &&
                            std::count(between.begin(), between.end(), '\n') > 1;
        const bool defines = braces_ == 0 && (token.is("kernel") || token.is("schedule"));
        if (defines) header_ = true;
        const bool continues =
            brackets_ > 0 || braces_ > 1 || (braces_ == 0 && header_ && !defines);
        const bool outdented = closes(token) || (token.is("}") && braces_ <= 1);
        line.indent = braces_ >= 1 && !(token.is("}") && braces_ == 1) ? 2 : 0;
        if (continues && !outdented && !token.is("{")) line.indent += 4;
        line.continues = brackets_ > 0 && i && is_operand_end(tokens_[i - 1]);
        line.schedule = in_schedule_ && braces_ >= 1;
        line.assigns = braces_ == 1 && !in_schedule_ && brackets_ == 0 && i + 1 < tokens_.size() &&
                       tokens_[i + 1].is("=");
        lines_.push_back(std::move(line));
    }

    std::string_view text_;
    const std::vector<Token>& tokens_;
    std::vector<Line> lines_;
    int brackets_ = 0, braces_ = 0;
    bool broken_ = true;  // a block just opened or closed
    bool header_ = false, in_schedule_ = false;
};

// Spaces between two neighbours of a line; `unary`: the first is a sign.
std::size_t spaces(const Token& a, const Token& b, bool unary, bool block_brace) {
    if (b.kind == TokenKind::comment) return 2;
    if (unary || opens(a) || a.is(".") || closes(b) || b.is(",") || b.is(":") || b.is("."))
        return 0;
    if (b.is("[")) return 0;
    if (b.is("(")) return a.kind == TokenKind::name && !is_operator_word(a.text) ? 0 : 1;
    if (!block_brace && (a.is("{") || b.is("}"))) return 0;
    return 1;
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    return std::string(text);
}

std::string line_text(const Line& line, std::size_t target_width) {
    std::string out(line.indent, ' ');
    bool unary = false, named = false;  // named: the entry of a schedule has its name
    int depth = 0;
    for (std::size_t i = 0; i < line.tokens.size(); ++i) {
        const Token& token = line.tokens[i];
        if (i > 0) {
            const Token& before = line.tokens[i - 1];
            const bool entry =
                line.schedule && depth == 0 && !named && token.kind == TokenKind::name;
            out.append(entry ? 2 : spaces(before, token, unary, !line.schedule), ' ');
        }
        out += token.kind == TokenKind::comment ? trimmed(token.text) : std::string(token.text);
        if (line.assigns && i == 0 && token.text.size() < target_width)
            out.append(target_width - token.text.size(), ' ');
        const bool after_operand = i ? is_operand_end(line.tokens[i - 1]) : line.continues;
        unary = token.is("-") && !after_operand;
        depth += (opens(token) || token.is("{")) - (closes(token) || token.is("}"));
        // The value ends an entry, unless its arguments follow.
        const bool arguments = i + 1 < line.tokens.size() && line.tokens[i + 1].is("(");
        if (line.schedule && depth == 0) named = !named || arguments;
    }
    return out;
}

}  // namespace

std::optional<std::string> format(std::string_view text, Diagnostics& diagnostics) {
    Reporter reporter(diagnostics);
    parse(lex(text, reporter), reporter);
    if (!reporter.ok()) return std::nullopt;
    const auto tokens = lex(text, reporter, true);
    const auto lines = LineSplitter(text, tokens).run();

    std::string out;
    for (std::size_t i = 0; i < lines.size();) {
        // Neighbouring statements have their '=' in one column.
        std::size_t end = i, width = 0;
        do {
            if (lines[end].assigns) width = std::max(width, lines[end].tokens[0].text.size());
            ++end;
        } while (end < lines.size() && !lines[end].blank_before &&
                 lines[end].tokens[0].kind != TokenKind::comment);
        for (; i < end; ++i) {
            if (lines[i].blank_before) out += '\n';
            out += line_text(lines[i], width) + '\n';
        }
    }
    return out;
}

}  // namespace fact::dsl
