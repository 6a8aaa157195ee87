#include "dsl/statement_parser.h"

#include <fmt/format.h>

#include "dsl/expression_parser.h"

namespace fact::dsl {
namespace {

ast::Word parse_factor(TokenStream& tokens) {
    const Token& token = tokens.peek();
    if (token.kind != TokenKind::name && token.kind != TokenKind::integer)
        tokens.fail_expected("a dimension");
    tokens.take();
    return {token.text, token.span};
}

}  // namespace

void parse_statement(TokenStream& tokens, ast::Body& body) {
    ast::Statement statement;
    statement.first_expr = body.exprs.size();
    const Token& first = tokens.peek();
    if (first.kind != TokenKind::name) {
        tokens.take();  // so that parsing makes progress after the error
        tokens.fail(
            code::unexpected, first.span,
            fmt::format("A statement starts with a name, not with '{}'.", first.text.substr(0, 40)),
            "Write `name = expression`.");
    }
    const Token& second = tokens.peek(1);
    if (first.is("stored") && second.kind == TokenKind::name && !second.starts_line) {
        statement.stored = true;
        tokens.take();
    }
    do {
        if (tokens.peek().starts_line && !statement.targets.empty()) tokens.fail_expected("a name");
        statement.targets.push_back(tokens.expect_name("a name"));
    } while (!statement.stored && !tokens.peek().starts_line && tokens.accept(","));
    if (tokens.peek().starts_line) tokens.fail_expected("'='");
    tokens.expect("=", "'='");
    // The target is recorded even if its expression has an error: later lines may use it.
    body.statements.push_back(statement);
    const ast::ExprId value = parse_expression(tokens, body.exprs);
    if (!tokens.peek().starts_line && !tokens.peek().is("}"))
        tokens.fail_expected("an operator or the end of the line");
    body.statements.back().value = value;
}

ast::Dim parse_dim(TokenStream& tokens) {
    ast::Dim dim;
    do dim.factors.push_back(parse_factor(tokens));
    while (tokens.accept("*"));
    if (tokens.peek().is("/") || tokens.peek().is("+") || tokens.peek().is("-"))
        tokens.fail(
            code::unexpected, tokens.peek().span,
            "A dimension is a symbol, a number or a product of them.",
            "Name the smallest extent as a dimension, and write larger ones as products of it: "
            "`x: f32[M, G*16]`.");
    dim.span = {dim.factors.front().span.begin, dim.factors.back().span.end};
    return dim;
}

std::vector<ast::Dim> parse_dims(TokenStream& tokens) {
    const Token open = tokens.peek();
    tokens.expect("[", "'['");
    std::vector<ast::Dim> dims;
    if (tokens.accept("]")) return dims;
    do dims.push_back(parse_dim(tokens));
    while (tokens.accept(","));
    tokens.expect_close("]", open);
    return dims;
}

}  // namespace fact::dsl
