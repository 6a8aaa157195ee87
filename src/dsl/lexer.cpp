#include "dsl/lexer.h"

#include <fmt/format.h>

namespace fact::dsl {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_part(char c) {
    return is_name_start(c) || is_digit(c);
}

class Lexer {
  public:
    Lexer(std::string_view text, Reporter& reporter, bool keep_comments)
        : text_(text), reporter_(reporter), keep_comments_(keep_comments) {}

    std::vector<Token> run() {
        while (at_ < text_.size() && !reporter_.full()) step();
        push(TokenKind::end, text_.size());
        tokens_.back().starts_line = true;
        return std::move(tokens_);
    }

  private:
    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void push(TokenKind kind, std::size_t end) {
        const auto span = Span{static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(end)};
        tokens_.push_back({kind, text_.substr(at_, end - at_), span, starts_line_});
        starts_line_ = false;
        at_ = end;
    }

    void step() {
        const char c = peek();
        if (c == '\n') {
            starts_line_ = true;
            ++at_;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            ++at_;
        } else if (c == '#') {
            const std::size_t end = std::min(text_.find('\n', at_), text_.size());
            if (keep_comments_)
                push(TokenKind::comment, end);
            else
                at_ = end;
        } else if (is_name_start(c)) {
            name();
        } else if (is_digit(c)) {
            number();
        } else {
            symbol();
        }
    }

    void name() {
        std::size_t end = at_;
        while (end < text_.size() && is_name_part(text_[end])) ++end;
        push(TokenKind::name, end);
        Token& token = tokens_.back();
        if (token.text.size() <= kMaxNameBytes) return;
        reporter_.error(code::long_name, token.span,
                        fmt::format("A name has at most {} characters.", kMaxNameBytes),
                        "Shorten it.");
        token.text = token.text.substr(0, kMaxNameBytes);
    }

    std::size_t digits(std::size_t from) const {
        while (from < text_.size() && is_digit(text_[from])) ++from;
        return from;
    }
    bool digit_at(std::size_t at) const { return at < text_.size() && is_digit(text_[at]); }

    void number() {
        TokenKind kind = TokenKind::integer;
        std::size_t end = digits(at_);
        const auto is = [&](std::size_t at, char c) { return at < text_.size() && text_[at] == c; };
        while (is(end, 'x') && digit_at(end + 1)) {
            kind = TokenKind::shape;
            end = digits(end + 1);
        }
        if (kind == TokenKind::integer && is(end, '.') && digit_at(end + 1)) {
            kind = TokenKind::number;
            end = digits(end + 1);
        }
        if (kind != TokenKind::shape && (is(end, 'e') || is(end, 'E'))) {
            const bool sign = is(end + 1, '+') || is(end + 1, '-');
            if (digit_at(end + 1 + sign)) {
                kind = TokenKind::number;
                end = digits(end + 1 + sign);
            }
        }
        if (end < text_.size() && is_name_part(text_[end])) {
            while (end < text_.size() && is_name_part(text_[end])) ++end;
            const auto span =
                Span{static_cast<std::uint32_t>(at_), static_cast<std::uint32_t>(end)};
            reporter_.error(code::bad_number, span,
                            fmt::format("'{}' is not a number.", text_.substr(at_, end - at_)),
                            "Write numbers as 1, 0.5 or 1e-3, shapes as 128x64, and start names "
                            "with a letter.");
            // Unlike a shape, an integer is allowed in expressions too: no second error follows.
            if (kind == TokenKind::shape) kind = TokenKind::integer;
        }
        push(kind, end);
    }

    void symbol() {
        static constexpr std::string_view kDouble[] = {"->", "<=", ">=", "==", "!="};
        static constexpr std::string_view kSingle = "()[]{},:.=+-*/%@<>";
        for (const auto pair : kDouble)
            if (text_.substr(at_, 2) == pair) return push(TokenKind::symbol, at_ + 2);
        if (kSingle.find(peek()) != std::string_view::npos) return push(TokenKind::symbol, at_ + 1);
        // One error for bad bytes in a row: a letter of another script is several bytes.
        const std::size_t begin = at_;
        while (at_ < text_.size() && !is_name_part(peek()) && !std::isspace(byte()) &&
               kSingle.find(peek()) == std::string_view::npos && peek() != '#')
            ++at_;
        const bool printable = at_ == begin + 1 && text_[begin] > ' ' && text_[begin] < 127;
        reporter_.error(code::bad_character,
                        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)},
                        printable ? fmt::format("'{}' has no meaning here.", text_[begin])
                                  : "These bytes have no meaning here.",
                        "Remove it; a comment starts with '#'.");
    }

    unsigned char byte() const { return static_cast<unsigned char>(peek()); }

    std::string_view text_;
    Reporter& reporter_;
    bool keep_comments_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    bool starts_line_ = true;
};

}  // namespace

std::vector<Token> lex(std::string_view text, Reporter& reporter, bool keep_comments) {
    if (text.size() > kMaxBytes) {
        reporter.error(code::too_large, {0, 0}, "The text is larger than 1 MiB.",
                       "Split it into several files.");
        text = {};
    }
    return Lexer(text, reporter, keep_comments).run();
}

}  // namespace fact::dsl
