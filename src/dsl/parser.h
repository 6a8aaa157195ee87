// Tokens to syntax trees; after an error, parsing goes on with the next line.
#pragma once

#include <vector>

#include "dsl/ast.h"
#include "dsl/lexer.h"

namespace fact::dsl {

// `tokens` without comments, from lex(). What could not be parsed is left out of the result.
ast::File parse(const std::vector<Token>& tokens, Reporter& reporter);

}  // namespace fact::dsl
