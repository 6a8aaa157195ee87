#include "dsl/token_stream.h"

#include <fmt/format.h>

namespace fact::dsl {

const Token& TokenStream::peek(std::size_t ahead) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& TokenStream::take() {
    const Token& token = peek();
    if (!at_end()) ++at_;
    return token;
}

bool TokenStream::accept(std::string_view symbol_or_word) {
    if (!peek().is(symbol_or_word)) return false;
    ++at_;
    return true;
}

void TokenStream::expect(std::string_view symbol, std::string_view what) {
    if (!accept(symbol)) fail_expected(what);
}

ast::Word TokenStream::expect_name(std::string_view what) {
    if (peek().kind != TokenKind::name) fail_expected(what);
    const Token& token = take();
    return {token.text, token.span};
}

void TokenStream::expect_close(std::string_view symbol, const Token& open) {
    if (accept(symbol)) return;
    if (at_end() || peek().starts_line || peek().is("}"))
        fail(code::unclosed, open.span, fmt::format("This '{}' is never closed.", open.text),
             fmt::format("Add the missing '{}'.", symbol));
    fail_expected(fmt::format("',' or '{}'", symbol));
}

void TokenStream::fail(code::Code code, Span at, std::string message, std::string fix) {
    reporter_.error(code, at, std::move(message), std::move(fix));
    throw SyntaxError{};
}

void TokenStream::fail_expected(std::string_view what) {
    const Token& token = peek();
    // If something is missing at the end of a line, report it there and not on the next line.
    if (token.kind == TokenKind::end || (token.starts_line && at_ > 0)) {
        const std::uint32_t end = previous_span().end;
        fail(code::unexpected, {end > 0 ? end - 1 : 0, end},
             fmt::format("Expected {} before the {} ends.", what,
                         token.kind == TokenKind::end ? "text" : "line"),
             fmt::format("Add {} after this.", what));
    }
    fail(code::unexpected, token.span,
         fmt::format("Expected {}, found '{}'.", what, token.text.substr(0, 40)),
         fmt::format("Write {} here.", what));
}

bool TokenStream::at_definition() const {
    return peek().starts_line && is_definition_word(peek()) && peek(1).kind == TokenKind::name;
}

void TokenStream::skip_line() {
    while (!at_end() && !peek().starts_line && !peek().is("}")) ++at_;
}

void TokenStream::skip_block() {
    int depth = 0;
    while (!at_end() && !at_definition()) {
        if (peek().is("{")) ++depth;
        const bool closes = peek().is("}") && --depth <= 0;
        ++at_;
        if (closes) return;
    }
}

}  // namespace fact::dsl
