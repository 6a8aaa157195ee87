// Parses statements and dimensions, for the bodies of kernels and of composite functions.
#pragma once

#include "dsl/token_stream.h"

namespace fact::dsl {

// `name = expression`, `stored name = expression` or `name, name = call(...)`; appends it to the
// body. Throws SyntaxError.
void parse_statement(TokenStream& tokens, ast::Body& body);

// A name, a positive integer, or a product of these: `8*D`.
ast::Dim parse_dim(TokenStream& tokens);
// `[M, 8*D]`; the opening bracket is next.
std::vector<ast::Dim> parse_dims(TokenStream& tokens);

}  // namespace fact::dsl
