// Kernel text to tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dsl/reporter.h"

namespace fact::dsl {

enum class TokenKind : std::uint8_t {
    name,     // x, kernel, bf16
    integer,  // 128
    number,   // 0.5, 1e-3
    shape,    // 128x256x64
    symbol,   // ( ) [ ] { } , : . = -> + - * / % @ < <= > >= == !=
    comment,  // # to the end of the line
    end,
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    Span span;
    bool starts_line = false;  // outside brackets, such a token begins a new statement

    bool is(std::string_view symbol_or_word) const {
        return (kind == TokenKind::symbol || kind == TokenKind::name) && text == symbol_or_word;
    }
};

// Whether the token is the first word of a definition.
inline bool is_definition_word(const Token& token) {
    return token.is("kernel") || token.is("pipeline") || token.is("schedule");
}

inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  // of a text
inline constexpr std::size_t kMaxNameBytes = 128;

// The tokens of the text, the last one `end`; comments only if `keep_comments`.
std::vector<Token> lex(std::string_view text, Reporter& reporter, bool keep_comments = false);

}  // namespace fact::dsl
