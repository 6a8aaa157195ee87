#include "lower/pipeline/magnitudes.h"

#include <algorithm>
#include <cmath>

#include "ir/extents.h"
#include "target/launch_record.h"

namespace fact::lower {

namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::UnaryOp;

// A number of n may be sqrt(n) deviations from the mean, but most are one or so. With the square of
// that, typical numbers would be too far below what is possible for f16 to tell them apart.
constexpr int kMostNormalised = 1;

struct Bound {
    ExprId most{};
    int normalised = 0;  // how many factors of a product are at most sqrt(n)
};
using Known = std::optional<Bound>;

class Magnitudes {
  public:
    Magnitudes(ir::Kernel& kernel, DimId dim) : kernel_(kernel), build_(kernel), dim_(dim) {}

    Known of(ExprId x) {
        const auto& dims = kernel_[x].type.dims;
        if (std::ranges::all_of(dims, [&](DimId dim) { return dim == dim_; }))
            return info(kernel_[x].type.dtype).floating
                       ? Known(Bound{build_.unary(UnaryOp::abs, x)})
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
        const int normalised = op == BinaryOp::mul ? a->normalised + b->normalised
                                                   : std::max(a->normalised, b->normalised);
        if (normalised > kMostNormalised) return std::nullopt;
        if (kernel_[a->most].type.dims.empty()) std::swap(a, b);
        return Bound{build_.binary(op, a->most, b->most), normalised};
    }
    Known number(double value) { return Bound{build_.literal(value)}; }

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
                return number(1);
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
                    return combined(BinaryOp::mul, of(n.a), number(std::abs(1 / *by)));
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
        return number(std::max(std::abs(*one), std::abs(*other)));
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
        Known all = number(1);
        const auto unpaired = factors;
        for (const ExprId inverse : unpaired) {
            const auto normalised = normalised_by(inverse, factors);
            if (!normalised) continue;
            all = combined(BinaryOp::mul, all, Bound{build_.literal(normalised->largest), 1});
            for (const ExprId factor : {inverse, normalised->x})  // one of each, of several
                factors.erase(std::ranges::find(factors, factor));
        }
        for (const ExprId factor : factors) all = combined(BinaryOp::mul, all, of(factor));
        return all;
    }

    struct Normalised {
        ExprId x{};
        double largest = 0;
    };
    // The factor x where `inverse` is rsqrt(sum(x * x) / n + eps): abs(x) * inverse <= sqrt(n).
    // nullopt if the factors have no x (any more).
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
        const auto elements = most_elements(mean->b);
        const auto* squares = std::get_if<ir::Reduce>(&kernel_[mean->a].node);
        if (!squares || squares->op != ir::ReduceOp::sum || !elements) return std::nullopt;
        const auto* square = std::get_if<ir::Binary>(&kernel_[squares->x].node);
        if (!square || square->op != BinaryOp::mul || square->a != square->b ||
            !std::ranges::count(factors, square->a))
            return std::nullopt;
        return Normalised{square->a, std::sqrt(*elements)};
    }

    // An extent that is no constant may be another in the next call, but no kernel counts further
    // than kMaxCount. Numbers that are one deviation are 2^-15.5 of its root: among f16 numbers up
    // to 2^14 they have all bits, as have those a thousand times smaller.
    std::optional<double> most_elements(ExprId id) const {
        if (const auto* extent = std::get_if<ir::Extent>(&kernel_[id].node))
            return static_cast<double>(
                ir::constant_extent(kernel_, extent->dim).value_or(kMaxCount));
        const auto number = literal(id);
        return number && *number > 0 ? number : std::nullopt;
    }

    ir::Kernel& kernel_;
    ir::Builder build_;
    const DimId dim_;
};

}  // namespace

std::optional<ExprId> largest_magnitude(ir::Kernel& kernel, ExprId x, DimId dim) {
    const Known known = Magnitudes(kernel, dim).of(x);
    return known ? std::optional(known->most) : std::nullopt;
}

}  // namespace fact::lower
