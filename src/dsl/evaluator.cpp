#include "dsl/evaluator.h"

#include <fmt/format.h>

#include "support/result.h"

namespace fact::dsl {

std::vector<Value> Evaluator::evaluate(const ast::Body& body, const ast::Statement& statement) {
    body_ = &body;
    values_.resize(body.exprs.size());
    const std::size_t last = static_cast<std::size_t>(*statement.value);
    for (std::size_t i = statement.first_expr; i < last; ++i)
        values_[i] = expression(body.exprs[i]);

    const ast::Expr& root = body.exprs[last];
    const auto* call = std::get_if<ast::Call>(&root.node);
    std::vector<Value> results;
    if (call && names_kernel(*call))
        results = call_kernel(*call, root.span, statement.targets[0].text);
    else
        results = {values_[last] = expression(root)};
    const std::size_t targets = statement.targets.size();
    if (results.size() != targets && !results.empty())
        reporter_.error(
            code::call_outputs, root.span,
            fmt::format("This gives {} value{} for {} name{}.", results.size(),
                        results.size() == 1 ? "" : "s", targets, targets == 1 ? "" : "s"),
            "Write a name for each output of the kernel: `a, b = two(x)`.");
    if (results.size() != targets) results.assign(targets, Value{});
    return results;
}

Value Evaluator::expression(const ast::Expr& expr) {
    const Span span = span_of(expr.span);
    const auto add = [&](ir::Node node, const ir::Type& wanted = {}) {
        return builder_.add(std::move(node), span, wanted);
    };
    return std::visit(
        overloaded{
            [&](const ast::Name& n) { return names_.value({n.text, span}); },
            [&](const ast::Number& n) {
                return add(ir::Literal{n.value}, {n.integer ? DType::i32 : DType::f32, {}});
            },
            [&](const ast::Truth& n) {
                return add(ir::Literal{n.value ? 1.0 : 0.0}, {DType::boolean, {}});
            },
            [&](const ast::Index& n) -> Value {
                const auto id = dim(n.dim);
                return id ? add(ir::Index{*id}) : Value{};
            },
            [&](const ast::Extent& n) -> Value {
                const auto id = dim(n.dim);
                return id ? add(ir::Extent{*id}) : Value{};
            },
            [&](const ast::Unary& n) -> Value {
                const auto x = value(n.x);
                return x ? add(ir::Unary{n.op, *x}) : Value{};
            },
            [&](const ast::Binary& n) -> Value {
                const auto a = value(n.a), b = value(n.b);
                return a && b ? add(ir::Binary{n.op, *a, *b}) : Value{};
            },
            [&](const ast::Matmul& n) -> Value {
                const auto a = value(n.a), b = value(n.b);
                return a && b ? add(ir::Product{*a, *b}) : Value{};
            },
            [&](const ast::Call& n) { return call(n, span); },
            [&](const ast::Transpose& n) -> Value {
                const auto x = value(n.x);
                return x ? builder_.transpose(*x, span) : Value{};
            },
            [&](const ast::Permute& n) {
                return reshape(n.x, n.dims, &NodeBuilder::permute, span);
            },
            [&](const ast::Expand& n) { return reshape(n.x, n.dims, &NodeBuilder::expand, span); },
            [&](const ast::View& n) { return reshape(n.x, n.dims, &NodeBuilder::view, span); },
            [&](const ast::Rename& n) { return reshape(n.x, n.dims, &NodeBuilder::rename, span); },
            [&](const ast::Window& n) { return window(n, span); },
        },
        expr.node);
}

std::optional<std::vector<ir::DimId>> Evaluator::dims(const std::vector<ast::Dim>& list) {
    std::vector<ir::DimId> out;
    bool ok = true;
    for (const ast::Dim& dim : list) {
        const auto found = names_.dims(dim);
        if (found) out.insert(out.end(), found->begin(), found->end());
        ok &= found.has_value();
    }
    return ok ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<ir::DimId> Evaluator::dim(const ast::Dim& dim) {
    const auto found = names_.dims(dim);
    if (!found) return std::nullopt;
    return builder_.factored_dim(*found, span_of(dim.span));
}

Value Evaluator::window(const ast::Window& window, Span span) {
    std::vector<ir::DimId> all_places;
    bool ok = value(window.x).has_value();
    for (const ast::Windowed& windowed : window.dims) {
        const auto of = dim(windowed.of), places = dim(windowed.places), taps = dim(windowed.taps);
        ok &= of && places && taps;
        if (!ok) continue;
        const ir::WindowRule rule{
            *of, *taps, windowed.stride, windowed.dilation, windowed.before, windowed.after};
        ok &= builder_.define_places(*places, rule, span_of(windowed.places.span));
        all_places.push_back(*places);
    }
    double outside = 0;
    if (window.outside) {
        const auto number = constant(*window.outside);
        if (!number)
            reporter_.error(code::window, span_of(syntax(*window.outside).span),
                            "What is outside must be a number.", "Write `outside: -inf`.");
        ok &= number.has_value();
        outside = number.value_or(0);
    }
    if (!ok) return {};
    return builder_.add(ir::Window{*value(window.x), std::move(all_places), outside}, span);
}

Value Evaluator::reshape(ast::ExprId x, const std::vector<ast::Dim>& list, Reshape how, Span span) {
    auto order = dims(list);
    if (!order || !value(x)) return {};
    return (builder_.*how)(*value(x), std::move(*order), span);
}

}  // namespace fact::dsl
