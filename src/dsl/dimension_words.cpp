#include "dsl/dimension_words.h"

#include "dsl/lexer.h"
#include "dsl/parser.h"
#include "support/result.h"

namespace fact::dsl {
namespace {

void add(const ast::Dim& dim, std::vector<DimensionWords>& list) {
    DimensionWords words;
    for (const ast::Word& factor : dim.factors) words.push_back(factor.text);
    list.push_back(std::move(words));
}

void add(const std::vector<ast::Dim>& dims, std::vector<DimensionWords>& list) {
    for (const ast::Dim& dim : dims) add(dim, list);
}

void add_dims_of(const ast::Node& node, std::vector<DimensionWords>& list) {
    std::visit(
        overloaded{[&](const ast::Index& n) { add(n.dim, list); },
                   [&](const ast::Extent& n) { add(n.dim, list); },
                   [&](const ast::Permute& n) { add(n.dims, list); },
                   [&](const ast::Expand& n) { add(n.dims, list); },
                   [&](const ast::View& n) { add(n.dims, list); },
                   [&](const ast::Rename& n) { add(n.dims, list); },
                   [&](const ast::Window& n) {
                       for (const ast::Windowed& dim : n.dims)
                           add({dim.of, dim.places, dim.taps}, list);
                   },
                   [&](const ast::Call& call) {
                       for (const auto& argument : call.named)
                           if (const auto* dims =
                                   std::get_if<std::vector<ast::Dim>>(&argument.value))
                               add(*dims, list);
                   },
                   [](const ast::Name&) {}, [](const ast::Number&) {}, [](const ast::Truth&) {},
                   [](const ast::Unary&) {}, [](const ast::Binary&) {}, [](const ast::Matmul&) {},
                   [](const ast::Transpose&) {}},
        node);
}

}  // namespace

Dimensions find_dimensions(std::string_view text) {
    Diagnostics ignored;
    Reporter reporter(ignored);
    const ast::File file = parse(lex(text, reporter), reporter);
    Dimensions found;
    for (const ast::Kernel& kernel : file.kernels) {
        for (const ast::Tensor& param : kernel.params) add(param.dims, found.of_params);
        for (const ast::Tensor& output : kernel.outputs) add(output.dims, found.elsewhere);
        for (const ast::Constraint& constraint : kernel.constraints) {
            add(constraint.dim, found.elsewhere);
            if (constraint.factored) add(*constraint.factored, found.elsewhere);
        }
        for (const ast::Expr& expr : kernel.body.exprs) add_dims_of(expr.node, found.elsewhere);
    }
    return found;
}

}  // namespace fact::dsl
