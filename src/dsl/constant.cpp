// Arguments that are computed when the text is checked: `scale: rsqrt(extent(64))`. The functions
// are declared in dsl/evaluator.h.
#include <cmath>

#include "dsl/evaluator.h"
#include "ir/extents.h"

namespace fact::dsl {

std::optional<double> Evaluator::constant(ast::ExprId id) {
    const ast::Node& node = syntax(id).node;
    if (const auto* number = std::get_if<ast::Number>(&node)) return number->value;
    if (const auto* extent = std::get_if<ast::Extent>(&node)) {
        const auto found = dim(extent->dim);
        if (!found) return std::nullopt;
        const auto constant = ir::constant_extent(builder_.kernel(), *found);
        return constant ? std::optional(static_cast<double>(*constant)) : std::nullopt;
    }
    if (const auto* unary = std::get_if<ast::Unary>(&node)) {
        const auto x = constant(unary->x);
        return x && unary->op == ir::UnaryOp::neg ? std::optional(-*x) : std::nullopt;
    }
    if (const auto* binary = std::get_if<ast::Binary>(&node)) {
        const auto a = constant(binary->a), b = constant(binary->b);
        if (!a || !b) return std::nullopt;
        if (binary->op == ir::BinaryOp::add) return *a + *b;
        if (binary->op == ir::BinaryOp::sub) return *a - *b;
        if (binary->op == ir::BinaryOp::mul) return *a * *b;
        if (binary->op == ir::BinaryOp::div) return *a / *b;
        return std::nullopt;
    }
    const auto* call = std::get_if<ast::Call>(&node);
    if (!call || call->arguments.size() != 1 || !call->named.empty()) return std::nullopt;
    const auto x = constant(call->arguments.front());
    if (x && call->function.text == "sqrt") return std::sqrt(*x);
    if (x && call->function.text == "rsqrt") return 1 / std::sqrt(*x);
    return std::nullopt;
}

}  // namespace fact::dsl
