#include "dsl/prelude.h"

#include <map>

#include "dsl/expression_parser.h"
#include "dsl/lexer.h"
#include "dsl/statement_parser.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

// "x, over, eps: 1e-5"
std::vector<Parameter> parse_parameters(std::string_view text, Reporter& reporter) {
    const auto tokens = lex(text, reporter);
    TokenStream stream(tokens, reporter);
    std::vector<Parameter> out;
    do {
        Parameter parameter{stream.expect_name("a name").text};
        if (parameter.name == "over") parameter.kind = ArgumentKind::dims;
        if (stream.accept(":")) {
            std::vector<ast::Expr> exprs;
            parse_expression(stream, exprs);
            parameter.default_value = std::get<ast::Number>(exprs.at(0).node).value;
            parameter.required = false;
        }
        out.push_back(parameter);
    } while (stream.accept(","));
    return out;
}

Composite parse_composite(const CompositeInfo& row) {
    Diagnostics diagnostics;
    Reporter reporter(diagnostics);
    try {
        Composite composite{{row.name, parse_parameters(row.parameters, reporter)}, {}};
        const auto tokens = lex(row.definition, reporter);
        TokenStream stream(tokens, reporter);
        while (!stream.at_end()) parse_statement(stream, composite.body);
        return composite;
    } catch (const SyntaxError&) {
        throw InternalError("a composite function does not parse: " + std::string(row.name));
    }
}

}  // namespace

const Composite* find_composite(std::string_view name) {
    static const auto composites = [] {
        std::map<std::string_view, Composite> all;
        for (const CompositeInfo& row : kComposites) all.emplace(row.name, parse_composite(row));
        return all;
    }();
    const auto found = composites.find(name);
    return found == composites.end() ? nullptr : &found->second;
}

}  // namespace fact::dsl
