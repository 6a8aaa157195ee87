#include "lower/pointwise/expression.h"

#include <fmt/format.h>

#include <cmath>

#include "support/result.h"

namespace fact::lower {

namespace {

std::string cpp_type(DType dtype) {
    if (dtype == DType::boolean) return "bool";
    if (info(dtype).floating) return "float";
    return dtype == DType::i64 ? "int64_t" : "int";
}

}  // namespace

std::string ExpressionText::fresh(const std::string& wanted) {
    const std::string stem = wanted.empty() ? "t" : emit::identifier(wanted);
    int count = taken_[stem]++;
    if (count == 0 && !wanted.empty()) return stem;
    std::string name = stem + std::to_string(count);
    while (taken_.contains(name)) name = stem + std::to_string(++count);
    taken_[name] = 1;
    return name;
}

void ExpressionText::declare(emit::CodeWriter& writer, ir::ExprId id) {
    const ir::Node& node = (*kernel_)[id].node;
    if (std::holds_alternative<ir::Literal>(node) || std::holds_alternative<ir::Permute>(node))
        return;
    declare(writer, id, value(id));
}

void ExpressionText::declare(emit::CodeWriter& writer, ir::ExprId id, const std::string& text) {
    const ir::Expr& expr = (*kernel_)[id];
    const std::string name = fresh(expr.name);
    writer.line(fmt::format("{} const {} = {};", cpp_type(expr.type.dtype), name, text),
                kernel_->line_of(expr.span));
    names_[id] = name;
}

std::string ExpressionText::use(ir::ExprId id) const {
    for (;;) {
        if (const auto known = names_.find(id); known != names_.end()) return known->second;
        const auto* permute = std::get_if<ir::Permute>(&(*kernel_)[id].node);
        if (!permute) break;
        id = permute->x;
    }
    const ir::Expr& expr = (*kernel_)[id];
    if (const auto* literal = std::get_if<ir::Literal>(&expr.node)) {
        if (expr.type.dtype == DType::boolean) return literal->value != 0 ? "true" : "false";
        if (info(expr.type.dtype).floating) return emit::float_literal(literal->value);
        return fmt::format("{}", static_cast<long>(literal->value));
    }
    throw InternalError("a value is used before it was computed");
}

// Converts integers: they would select another overload, or divide as integers.
std::string ExpressionText::as_float(ir::ExprId id) const {
    const std::string text = use(id);
    return info((*kernel_)[id].type.dtype).floating ? text
                                                    : fmt::format("static_cast<float>({})", text);
}

// An operand of an operation that computes with floats, if `floating`, or else with integers.
std::string ExpressionText::matched(ir::ExprId id, bool floating) const {
    return floating ? as_float(id) : use(id);
}

// An operand of min or max of integers. Both operands need the same type: i64 if `wide`.
std::string ExpressionText::integer(ir::ExprId id, bool wide) const {
    const bool widens = wide && (*kernel_)[id].type.dtype != DType::i64;
    return widens ? fmt::format("int64_t{{{}}}", use(id)) : use(id);
}

std::string ExpressionText::value(ir::ExprId id) const {
    const ir::Expr& expr = (*kernel_)[id];
    return std::visit(
        overloaded{
            [&](const ir::Index& n) { return coordinate_(n.dim); },
            [&](const ir::Extent& n) { return extent_(n.dim); },
            [&](const ir::Unary& n) { return unary(n); },
            [&](const ir::Binary& n) { return binary(n); },
            [&](const ir::Select& n) {
                const bool floating = info(expr.type.dtype).floating;
                return fmt::format("{} ? {} : {}", use(n.condition), matched(n.a, floating),
                                   matched(n.b, floating));
            },
            [&](const ir::Cast& n) { return cast(expr.type.dtype, n.x); },
            [&](const ir::Expand& n) { return use(n.x); },
            [&](const ir::View& n) { return use(n.x); },
            [&](const one_of<ir::Param, ir::Literal, ir::Permute, ir::Flip, ir::Window, ir::Reduce,
                             ir::Scan, ir::Product, ir::Attention, ir::LogSumExp> auto&) {
                return use(id);
            },
        },
        expr.node);
}

// Integers do not use the functions of F: a float cannot represent all of them.
std::string ExpressionText::unary(const ir::Unary& n) const {
    const ir::UnaryInfo& function = ir::info(n.op);
    const bool integer = !info((*kernel_)[n.x].type.dtype).floating && !function.of_integer.empty();
    if (!integer && n.op != ir::UnaryOp::neg)
        return fmt::format("F::{}({})", function.name, as_float(n.x));
    std::string x = use(n.x);
    if (x[0] == '-') x = fmt::format("({})", x);  // `--x` would be another operator
    return fmt::format(fmt::runtime(function.of_integer), x);
}

std::string ExpressionText::binary(const ir::Binary& n) const {
    const DType left = (*kernel_)[n.a].type.dtype, right = (*kernel_)[n.b].type.dtype;
    const bool floating = info(left).floating || info(right).floating || n.op == ir::BinaryOp::div;
    const bool wide = left == DType::i64 || right == DType::i64;
    const std::string a = matched(n.a, floating), b = matched(n.b, floating);
    switch (n.op) {
        case ir::BinaryOp::min:
        case ir::BinaryOp::max:
            return floating ? fmt::format("F::{}({}, {})", ir::info(n.op).name, a, b)
                            : fmt::format("::{}({}, {})", ir::info(n.op).name, integer(n.a, wide),
                                          integer(n.b, wide));
        case ir::BinaryOp::pow:
            return power(n, as_float(n.a), as_float(n.b));
        case ir::BinaryOp::div:
            return quotient(n, a, b);
        case ir::BinaryOp::logical_and:
            return fmt::format("{} && {}", a, b);
        case ir::BinaryOp::logical_or:
            return fmt::format("{} || {}", a, b);
        case ir::BinaryOp::add:
        case ir::BinaryOp::sub:
        case ir::BinaryOp::mul:
        case ir::BinaryOp::lt:
        case ir::BinaryOp::le:
        case ir::BinaryOp::gt:
        case ir::BinaryOp::ge:
        case ir::BinaryOp::eq:
        case ir::BinaryOp::ne:
            return fmt::format("{} {} {}", a, ir::info(n.op).name, b);
    }
    throw InternalError("an operator that C++ does not have");
}

// Small powers without powf, which is slow.
std::string ExpressionText::power(const ir::Binary& n, const std::string& a,
                                  const std::string& b) const {
    if (const auto* exponent = std::get_if<ir::Literal>(&(*kernel_)[n.b].node)) {
        if (exponent->value == 2) return fmt::format("{0} * {0}", a);
        if (exponent->value == 3) return fmt::format("{0} * {0} * {0}", a);
        if (exponent->value == 0.5) return fmt::format("F::sqrt({})", a);
    }
    return fmt::format("F::pow({}, {})", a, b);
}

// Division by a power of two is exactly a multiplication, if the reciprocal is a normal float.
std::string ExpressionText::quotient(const ir::Binary& n, const std::string& a,
                                     const std::string& b) const {
    if (const auto* divisor = std::get_if<ir::Literal>(&(*kernel_)[n.b].node)) {
        int exponent = 0;
        if (std::frexp(divisor->value, &exponent) == 0.5 && std::abs(exponent) < 100)
            return fmt::format("{} * {}", a, emit::float_literal(1 / divisor->value));
    }
    return fmt::format("F::divide({}, {})", a, b);
}

std::string ExpressionText::cast(DType to, ir::ExprId x) const {
    const DType from = (*kernel_)[x].type.dtype;
    if (to == DType::boolean) return fmt::format("{} != 0", use(x));
    if (!info(to).floating)
        return fmt::format("static_cast<{}>({})", to == DType::i32 ? "int" : info(to).cuda, use(x));
    if (!info(from).floating) return as_float(x);
    if (to == DType::f32 || to == DType::f64) return use(x);
    return fmt::format("rounded<{}>({})", info(to).cuda, use(x));
}

}  // namespace fact::lower
