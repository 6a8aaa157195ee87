// format(), which dsl/dsl.h declares.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/dsl.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "dsl/precedence.h"

namespace fact::dsl {
namespace {

struct Piece {
    Token token;
    bool tight = false;  // the '*' of a dimension: no spaces around it
};

struct Line {
    std::vector<Piece> pieces;
    std::size_t indent = 0;
    bool blank_before = false;
    std::size_t targets = 0;  // tokens before the '=' of a statement
    bool schedule = false;    // inside a schedule block
    bool continues = false;   // the line before ended with an operand: a sign here is an operator
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

// Splits the tokens into lines: those of the text, and one for each end of a block.
class LineSplitter {
  public:
    LineSplitter(std::string_view text, const std::vector<Token>& tokens)
        : text_(text), tokens_(tokens) {}

    std::vector<Line> run() {
        for (std::size_t i = 0; tokens_[i].kind != TokenKind::end; ++i) {
            const Token& token = tokens_[i];
            const bool ends_block = token.is("}") && braces_ == 1;
            if (token.starts_line || ends_block || (at_brace_ && token.kind != TokenKind::comment))
                begin_line(i);
            at_brace_ = false;
            track_brackets(i);
            const bool in_header = braces_ == 0;  // there `*` only multiplies dimensions
            lines_.back().pieces.push_back({token, token.is("*") && (in_dims() || in_header)});
            if (is_definition_word(token) && braces_ == 0 && lines_.back().pieces.size() == 1)
                in_schedule_ = token.is("schedule");
            if (token.is("{") && braces_++ == 0) at_brace_ = true;
            if (token.is("}") && --braces_ == 0) at_brace_ = true, header_ = false;
        }
        return std::move(lines_);
    }

  private:
    struct Bracket {
        bool dims = false;  // it lists dimensions
        bool over = false;  // the argument `over:` is being read
    };

    bool in_dims() const {
        return !brackets_.empty() && (brackets_.back().dims || brackets_.back().over);
    }

    // Keeps track of the brackets that are open at the token.
    void track_brackets(std::size_t i) {
        const Token& token = tokens_[i];
        if (opens(token)) {
            const bool call = i >= 1 && token.is("(");
            const bool view = call && i >= 2 && tokens_[i - 2].is(".") &&
                              (tokens_[i - 1].is("view") || tokens_[i - 1].is("as") ||
                               tokens_[i - 1].is("permute") || tokens_[i - 1].is("expand"));
            const bool of_dim = call && (tokens_[i - 1].is("index") || tokens_[i - 1].is("extent"));
            brackets_.push_back({token.is("[") || view || of_dim, false});
        } else if (brackets_.empty()) {
            return;
        } else if (closes(token)) {
            brackets_.pop_back();
        } else if (token.is(",")) {
            brackets_.back().over = false;
        } else if (token.is(":") && i >= 1 && tokens_[i - 1].is("over")) {
            brackets_.back().over = true;
        }
    }

    // How many tokens are the targets of a statement; 0 if none starts here.
    std::size_t count_targets(std::size_t i) const {
        if (braces_ != 1 || in_schedule_ || !brackets_.empty()) return 0;
        for (std::size_t end = i; tokens_[end].kind != TokenKind::end; ++end) {
            const Token& token = tokens_[end];
            if (token.is("=")) return end - i;
            const bool target = token.kind == TokenKind::name || token.is(",");
            if (!target || (end > i && token.starts_line)) break;
        }
        return 0;
    }

    void begin_line(std::size_t i) {
        const Token& token = tokens_[i];
        Line line;
        const std::size_t from = i ? tokens_[i - 1].span.end : 0;
        const auto between = text_.substr(from, token.span.begin - from);
        const bool after_open = i && braces_ == 1 && tokens_[i - 1].is("{");
        line.blank_before = i && !after_open && !token.is("}") &&
                            std::count(between.begin(), between.end(), '\n') > 1;
        const bool defines = braces_ == 0 && is_definition_word(token);
        if (defines) header_ = true;
        const bool continues =
            !brackets_.empty() || braces_ > 1 || (braces_ == 0 && header_ && !defines);
        const bool outdented = closes(token) || (token.is("}") && braces_ <= 1);
        line.indent = braces_ >= 1 && !(token.is("}") && braces_ == 1) ? 2 : 0;
        if (continues && !outdented && !token.is("{")) line.indent += 4;
        line.continues = !brackets_.empty() && i && is_operand_end(tokens_[i - 1]);
        line.schedule = in_schedule_ && braces_ >= 1;
        line.targets = count_targets(i);
        lines_.push_back(std::move(line));
    }

    std::string_view text_;
    const std::vector<Token>& tokens_;
    std::vector<Line> lines_;
    std::vector<Bracket> brackets_;
    int braces_ = 0;
    bool at_brace_ = true;  // a block just opened or closed
    bool header_ = false;   // between the first word of a definition and its end
    bool in_schedule_ = false;
};

// Spaces between two neighbours of a line. `unary`: the first is a sign; `block_brace`: a brace
// belongs to a block, not to a list of alternatives.
std::size_t spaces(const Piece& first, const Piece& second, bool unary, bool block_brace) {
    const Token &a = first.token, &b = second.token;
    if (b.kind == TokenKind::comment) return 2;
    if (unary || first.tight || second.tight || opens(a) || a.is(".") || closes(b) || b.is(",") ||
        b.is(":") || b.is("."))
        return 0;
    if (b.is("[")) return a.is(":") ? 1 : 0;
    if (b.is("(")) return a.kind == TokenKind::name && !is_operator_word(a.text) ? 0 : 1;
    if (!block_brace && (a.is("{") || b.is("}"))) return 0;
    return 1;
}

std::string trimmed(std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    return std::string(text);
}

// The width of a statement's targets.
std::size_t target_width(const Line& line) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < line.targets; ++i) {
        if (i > 0) width += spaces(line.pieces[i - 1], line.pieces[i], false, true);
        width += line.pieces[i].token.text.size();
    }
    return width;
}

std::string line_text(const Line& line, std::size_t width) {
    std::string out(line.indent, ' ');
    bool unary = false;  // the token before is a sign
    bool named = false;  // the current entry of a schedule has its name, but not yet its value
    int depth = 0;
    for (std::size_t i = 0; i < line.pieces.size(); ++i) {
        const Token& token = line.pieces[i].token;
        if (i > 0) {
            const bool entry =
                line.schedule && depth == 0 && !named && token.kind == TokenKind::name;
            const auto& before = line.pieces[i - 1];
            out.append(entry ? 2 : spaces(before, line.pieces[i], unary, !line.schedule), ' ');
        }
        out += token.kind == TokenKind::comment ? trimmed(token.text) : std::string(token.text);
        if (line.targets > 0 && i + 1 == line.targets)
            out.append(width - std::min(width, target_width(line)), ' ');
        const bool after_operand = i ? is_operand_end(line.pieces[i - 1].token) : line.continues;
        unary = token.is("-") && !after_operand;
        depth += (opens(token) || token.is("{")) - (closes(token) || token.is("}"));
        // A value ends an entry unless its arguments follow.
        const bool arguments = i + 1 < line.pieces.size() && line.pieces[i + 1].token.is("(");
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
        // Align the '=' of neighbouring statements, except those with long targets.
        constexpr std::size_t kMaxAligned = 40;
        std::size_t end = i, width = 0;
        do {
            const std::size_t own = target_width(lines[end]);
            if (own <= kMaxAligned) width = std::max(width, own);
            ++end;
        } while (end < lines.size() && !lines[end].blank_before && lines[end].indent > 0 &&
                 lines[end].pieces[0].token.kind != TokenKind::comment);
        for (; i < end; ++i) {
            if (lines[i].blank_before) out += '\n';
            out += line_text(lines[i], width) + '\n';
        }
    }
    return out;
}

}  // namespace fact::dsl
