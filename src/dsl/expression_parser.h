// Expressions, by precedence climbing.
#pragma once

#include "dsl/token_stream.h"

namespace fact::dsl {

// Parses one expression, which ends with its line unless a bracket is open; appends its nodes to
// `exprs`, operands before users. Throws SyntaxError.
ast::ExprId parse_expression(TokenStream& tokens, std::vector<ast::Expr>& exprs);

}  // namespace fact::dsl
