#include "match/formulas/activations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "support/result.h"

namespace fact::match {

using ir::Binary;
using ir::BinaryOp;
using ir::ExprId;
using ir::Kernel;
using ir::Literal;
using ir::Unary;
using ir::UnaryOp;

namespace {

// A polynomial in the activation's argument x and a transcendental function t of x: (power of x,
// power of t) -> coefficient. Comparing polynomials makes association and expansion irrelevant.
using Polynomial = std::map<std::pair<int, int>, double>;
constexpr int kMaxDegree = 4;  // in x; the degree in t is at most one
// Activations have few steps. Walking deeper expressions takes exponential time if they share
// parts.
constexpr int kMaxDepth = 9;

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    Polynomial result;
    for (const auto& [p, c] : a)
        for (const auto& [q, d] : b) {
            if (p.first + q.first > kMaxDegree || p.second + q.second > 1) return std::nullopt;
            result[{p.first + q.first, p.second + q.second}] += c * d;
        }
    return result;
}

Polynomial sum(Polynomial a, const Polynomial& b, double sign) {
    for (const auto& [power, coefficient] : b) a[power] += sign * coefficient;
    return a;
}

// The expressions that stand for the variables of a polynomial.
struct Unknowns {
    ExprId x{};
    std::optional<ExprId> t;
};

// The expression as a polynomial in the unknowns; nullopt if it is none, or too deep or of too high
// a degree.
std::optional<Polynomial> polynomial(const Kernel& kernel, ExprId id, const Unknowns& unknowns,
                                     int depth = 0) {
    if (depth > kMaxDepth) return std::nullopt;
    if (id == unknowns.x) return Polynomial{{{1, 0}, 1.0}};
    if (id == unknowns.t) return Polynomial{{{0, 1}, 1.0}};
    const auto& node = kernel[id].node;
    if (const auto* literal = std::get_if<Literal>(&node)) {
        if (!std::isfinite(literal->value)) return std::nullopt;
        return Polynomial{{{0, 0}, literal->value}};
    }
    if (const auto* unary = std::get_if<Unary>(&node); unary && unary->op == UnaryOp::neg) {
        const auto x = polynomial(kernel, unary->x, unknowns, depth + 1);
        return x ? product(*x, {{{0, 0}, -1.0}}) : std::nullopt;
    }
    const auto* binary = std::get_if<Binary>(&node);
    if (!binary) return std::nullopt;
    const bool polynomial_op =
        binary->op == BinaryOp::add || binary->op == BinaryOp::sub || binary->op == BinaryOp::mul;
    if (!polynomial_op) return std::nullopt;
    const auto a = polynomial(kernel, binary->a, unknowns, depth + 1);
    const auto b = a ? polynomial(kernel, binary->b, unknowns, depth + 1) : std::nullopt;
    if (!b) return std::nullopt;
    if (binary->op == BinaryOp::mul) return product(*a, *b);
    return sum(*a, *b, binary->op == BinaryOp::add ? 1 : -1);
}

bool matches(const std::optional<Polynomial>& found, const Polynomial& wanted) {
    if (!found) return false;
    for (const auto& [power, coefficient] : *found) {
        const auto want = wanted.find(power);
        const double expected = want == wanted.end() ? 0 : want->second;
        if (std::abs(coefficient - expected) > 1e-4 * std::abs(expected)) return false;
    }
    for (const auto& [power, coefficient] : wanted)
        if (!found->contains(power)) return false;
    return true;
}

// An activation f(x) = whole(x, t) with t = inner(argument(x)).
struct Form {
    UnaryOp inner;
    Polynomial argument, whole;
    UnaryOp result;  // f in the kernel language
};

const std::array<Form, 3>& forms() {
    static const double root = std::sqrt(2 / std::acos(-1.0));        // of 2 / pi
    static const Polynomial half_plus{{{1, 0}, 0.5}, {{1, 1}, 0.5}};  // x * (1 + t) / 2
    static const std::array<Form, 3> table{{
        {UnaryOp::tanh, {{{1, 0}, root}, {{3, 0}, root * 0.044715}}, half_plus, UnaryOp::gelu_tanh},
        {UnaryOp::erf, {{{1, 0}, std::sqrt(0.5)}}, half_plus, UnaryOp::gelu},
        {UnaryOp::sigmoid, {{{1, 0}, 1.0}}, {{{1, 1}, 1.0}}, UnaryOp::silu},
    }};
    return table;
}

// Subexpressions of `id` that may be an activation's x, no deeper than polynomial() walks.
std::vector<ExprId> subexpressions(const Kernel& kernel, ExprId id) {
    std::vector<ExprId> found{id};
    std::size_t next = 0;  // expressions before this one have been expanded
    for (int depth = 0; depth < kMaxDepth && next < found.size(); ++depth) {
        const std::size_t end = found.size();
        for (; next < end; ++next) {
            const auto& node = kernel[found[next]].node;
            if (std::holds_alternative<Binary>(node) || std::holds_alternative<Unary>(node))
                ir::for_each_operand(node, [&](ExprId operand) {
                    if (std::ranges::find(found, operand) == found.end()) found.push_back(operand);
                });
        }
    }
    return found;
}

// The x for which `t` is inner(argument(x)).
std::optional<ExprId> argument_of(const Kernel& kernel, ExprId t, const Form& form) {
    const auto* unary = std::get_if<Unary>(&kernel[t].node);
    if (!unary || unary->op != form.inner) return std::nullopt;
    for (const ExprId x : subexpressions(kernel, unary->x)) {
        if (std::holds_alternative<Literal>(kernel[x].node)) continue;
        if (matches(polynomial(kernel, unary->x, {x, std::nullopt}), form.argument)) return x;
    }
    return std::nullopt;
}

}  // namespace

void recognise_activations(Kernel& kernel, std::vector<std::string>& tags) {
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        for (const Form& form : forms()) {
            const auto t = static_cast<ExprId>(i);
            const auto x = argument_of(kernel, t, form);
            if (!x) continue;
            for (std::size_t j = i + 1; j < kernel.exprs.size(); ++j) {
                const auto whole = static_cast<ExprId>(j);
                if (!matches(polynomial(kernel, whole, {*x, t}), form.whole)) continue;
                kernel.exprs[j].node = Unary{form.result, *x};
                tags[j] = std::string(ir::info(form.result).name);
            }
        }
    }
}

}  // namespace fact::match
