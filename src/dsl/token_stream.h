// The parser's access to the tokens: look ahead, consume, report errors, and skip after an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/ast.h"
#include "dsl/lexer.h"

namespace fact::dsl {

// Thrown after an error is reported, caught where parsing can go on.
struct SyntaxError {};

class TokenStream {
  public:
    TokenStream(const std::vector<Token>& tokens, Reporter& reporter)
        : tokens_(tokens), reporter_(reporter) {}

    const Token& peek(std::size_t ahead = 0) const;
    const Token& take();
    bool at_end() const { return peek().kind == TokenKind::end; }
    std::size_t position() const { return at_; }
    Span previous_span() const { return at_ ? tokens_[at_ - 1].span : Span{}; }

    bool accept(std::string_view symbol_or_word);
    // Consumes the token, or fails because `what` was expected.
    void expect(std::string_view symbol, std::string_view what);
    ast::Word expect_name(std::string_view what);
    // Consumes the symbol that closes `open`, or fails.
    void expect_close(std::string_view symbol, const Token& open);

    [[noreturn]] void fail(code::Code code, Span at, std::string message, std::string fix);
    [[noreturn]] void fail_expected(std::string_view what);

    // Skips to the next line, or to a closing brace.
    void skip_line();
    // Skips to the end of the block, or to the next definition.
    void skip_block();
    // Whether a kernel, pipeline or schedule begins here.
    bool at_definition() const;

    Reporter& reporter() { return reporter_; }

  private:
    const std::vector<Token>& tokens_;
    Reporter& reporter_;
    std::size_t at_ = 0;
};

}  // namespace fact::dsl
