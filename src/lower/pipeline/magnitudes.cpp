#include "lower/pipeline/magnitudes.h"

#include <algorithm>
#include <cmath>

#include "ir/extents.h"

namespace fact::lower {

namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::UnaryOp;
using Known = std::optional<ExprId>;

class Magnitudes {
  public:
    Magnitudes(ir::Kernel& kernel, DimId dim, const std::vector<std::int64_t>& extents)
        : kernel_(kernel), build_(kernel), dim_(dim), extents_(extents) {}

    Known of(ExprId x) {
        const auto& dims = kernel_[x].type.dims;
        if (std::ranges::all_of(dims, [&](DimId dim) { return dim == dim_; }))
            return info(kernel_[x].type.dtype).floating ? Known(build_.unary(UnaryOp::abs, x))
                                                        : std::nullopt;
        const ir::Node node = kernel_[x].node;  // a copy: the kernel grows
        return std::visit(
            overloaded{
                [&](const ir::Unary& n) { return of_unary(n); },
                [&](const ir::Binary& n) { return of_binary(x, n); },
                [&](const ir::Select& n) { return combined(BinaryOp::max, of(n.a), of(n.b)); },
                [&](const one_of<ir::Permute, ir::Expand> auto& n) { return of(n.x); },
                [&](const ir::Cast& n) {
                    return info(kernel_[x].type.dtype).floating ? of(n.x) : Known();
                },
                [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::View, ir::Flip,
                                ir::Window, ir::Reduce, ir::Scan, ir::Product, ir::Attention,
                                ir::LogSumExp> auto&) { return Known(); },
            },
            node);
    }

  private:
    Known combined(BinaryOp op, Known a, Known b) {
        if (!a || !b) return std::nullopt;
        if (kernel_[*a].type.dims.empty()) std::swap(a, b);
        return build_.binary(op, *a, *b);
    }

    Known of_unary(const ir::Unary& n) {
        switch (n.op) {
            // No further from 0 than their operand.
            case UnaryOp::neg:
            case UnaryOp::abs:
            case UnaryOp::relu:
            case UnaryOp::gelu:
            case UnaryOp::gelu_tanh:
            case UnaryOp::silu:
            case UnaryOp::mish:
                return of(n.x);
            case UnaryOp::tanh:
            case UnaryOp::erf:
            case UnaryOp::sigmoid:
            case UnaryOp::sin:
            case UnaryOp::cos:
            case UnaryOp::sign:
                return build_.literal(1);
            case UnaryOp::logical_not:
            case UnaryOp::exp:
            case UnaryOp::expm1:
            case UnaryOp::log:
            case UnaryOp::log1p:
            case UnaryOp::sqrt:
            case UnaryOp::rsqrt:
            case UnaryOp::reciprocal:
            case UnaryOp::softplus:
            case UnaryOp::floor:
            case UnaryOp::ceil:
            case UnaryOp::round:
            case UnaryOp::tf32:
                return std::nullopt;
        }
        throw InternalError("largest_magnitude: no such operator");
    }

    Known of_binary(ExprId x, const ir::Binary& n) {
        switch (n.op) {
            case BinaryOp::add:
            case BinaryOp::sub:
                return combined(BinaryOp::add, of(n.a), of(n.b));
            case BinaryOp::mul:
                return of_factors(x);
            case BinaryOp::min:
            case BinaryOp::max:
                if (const auto clamped = of_clamped(n)) return clamped;
                return combined(BinaryOp::max, of(n.a), of(n.b));
            case BinaryOp::div:
                if (const auto by = literal(n.b); by && *by != 0)
                    return combined(BinaryOp::mul, of(n.a), build_.literal(std::abs(1 / *by)));
                return std::nullopt;
            case BinaryOp::pow:
            case BinaryOp::lt:
            case BinaryOp::le:
            case BinaryOp::gt:
            case BinaryOp::ge:
            case BinaryOp::eq:
            case BinaryOp::ne:
            case BinaryOp::logical_and:
            case BinaryOp::logical_or:
                return std::nullopt;
        }
        throw InternalError("largest_magnitude: no such operator");
    }

    std::optional<double> literal(ExprId id) const {
        const auto* number = std::get_if<ir::Literal>(&kernel_[id].node);
        return number ? std::optional(number->value) : std::nullopt;
    }

    // Of min(max(a, low), high), or the other way round.
    Known of_clamped(const ir::Binary& outer) {
        const auto* inner = std::get_if<ir::Binary>(&kernel_[outer.a].node);
        const auto opposite = outer.op == BinaryOp::min ? BinaryOp::max : BinaryOp::min;
        const auto one = literal(outer.b);
        const auto other = inner && inner->op == opposite ? literal(inner->b) : std::nullopt;
        if (!one || !other) return std::nullopt;
        return build_.literal(std::max(std::abs(*one), std::abs(*other)));
    }

    // Of a product: what is divided by its own deviation counts as one factor.
    Known of_factors(ExprId x) {
        std::vector<ExprId> factors, open{x};
        while (!open.empty()) {
            const ExprId id = open.back();
            open.pop_back();
            const auto* product = std::get_if<ir::Binary>(&kernel_[id].node);
            if (product && product->op == BinaryOp::mul)
                open.insert(open.end(), {product->a, product->b});
            else
                factors.push_back(id);
        }
        Known all = build_.literal(1);
        for (bool any = true; any;) {
            any = false;
            for (const ExprId inverse : factors) {
                const auto normalised = normalised_by(inverse, factors);
                if (!normalised) continue;
                all = combined(BinaryOp::mul, all, build_.literal(normalised->largest));
                std::erase(factors, inverse);
                factors.erase(std::ranges::find(factors, normalised->x));
                any = true;
                break;
            }
        }
        for (const ExprId factor : factors) all = combined(BinaryOp::mul, all, of(factor));
        return all;
    }

    struct Normalised {
        ExprId x{};
        double largest = 0;
    };
    // The factor x where `inverse` is rsqrt(sum(x * x) / n + eps): abs(x) * inverse <= sqrt(n).
    std::optional<Normalised> normalised_by(ExprId inverse,
                                            const std::vector<ExprId>& factors) const {
        const auto* root = std::get_if<ir::Unary>(&kernel_[inverse].node);
        if (!root || root->op != UnaryOp::rsqrt) return std::nullopt;
        ExprId variance = root->x;
        if (const auto* sum = std::get_if<ir::Binary>(&kernel_[variance].node);
            sum && sum->op == BinaryOp::add) {
            const auto eps = literal(sum->b);
            if (!eps || *eps < 0) return std::nullopt;
            variance = sum->a;
        }
        const auto* mean = std::get_if<ir::Binary>(&kernel_[variance].node);
        if (!mean || mean->op != BinaryOp::div) return std::nullopt;
        const auto* squares = std::get_if<ir::Reduce>(&kernel_[mean->a].node);
        const auto elements = number_of(mean->b);
        if (!squares || squares->op != ir::ReduceOp::sum || !elements) return std::nullopt;
        const auto* square = std::get_if<ir::Binary>(&kernel_[squares->x].node);
        if (!square || square->op != BinaryOp::mul || square->a != square->b ||
            !std::ranges::count(factors, square->a))
            return std::nullopt;
        return Normalised{square->a, std::sqrt(*elements)};
    }

    std::optional<double> number_of(ExprId id) const {
        if (const auto* extent = std::get_if<ir::Extent>(&kernel_[id].node)) {
            double product = 1;
            for (const DimId dim : kernel_.factors({extent->dim})) {
                const auto known = ir::known_extent(kernel_, dim, extents_);
                if (!known) return std::nullopt;
                product *= static_cast<double>(*known);
            }
            return product;
        }
        const auto number = literal(id);
        return number && *number > 0 ? number : std::nullopt;
    }

    ir::Kernel& kernel_;
    ir::Builder build_;
    const DimId dim_;
    const std::vector<std::int64_t>& extents_;
};

}  // namespace

std::optional<ExprId> largest_magnitude(ir::Kernel& kernel, ExprId x, DimId dim,
                                        const std::vector<std::int64_t>& extents) {
    return Magnitudes(kernel, dim, extents).of(x);
}

}  // namespace fact::lower
