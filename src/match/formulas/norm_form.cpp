#include "match/formulas/norm_form.h"

#include "match/formulas/formula.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

namespace {

// The parts of a norm; r is a row, or a row minus its mean.
struct NormFormulas {
    Formula r = any('r');
    Formula mean_square = either({mean(r * r) + number('e'), mean(r* r)});
    Formula deviation = either({sqrt(mean_square), reciprocal(rsqrt(mean_square))});
    Formula inverse = either({rsqrt(mean_square), reciprocal(sqrt(mean_square))});
    Formula centered = any('x') - mean(any('x'));
};

// Ignores rounding and the order of dimensions.
class NormReader {
  public:
    explicit NormReader(const ir::Kernel& kernel)
        : kernel_(kernel),
          numbering_(kernel, Ignored::rounding),
          along_(kernel.outputs.front().tensor.type.dims.back()),
          formulas_(numbering_, along_) {
        for (const ir::Expr& expr : kernel.exprs) {
            const auto* binary = std::get_if<ir::Binary>(&expr.node);
            arithmetic_.push_back(binary ? is_arithmetic(binary->a) && is_arithmetic(binary->b)
                                         : std::holds_alternative<ir::Param>(expr.node) ||
                                               std::holds_alternative<ir::Literal>(expr.node));
        }
    }

    // Reads row * scale * gains + shift, with the factors in any order.
    std::optional<NormForm> read() {
        ExprId product = numbering_.representative(kernel_.outputs.front().value);
        if (const auto* sum = numbering_.as<ir::Binary>(product); sum && sum->op == BinaryOp::add) {
            const bool shift_first = is_same_for_rows(sum->a);
            if (shift_first == is_same_for_rows(sum->b)) return std::nullopt;
            form_.shift = shift_first ? sum->a : sum->b;
            product = shift_first ? sum->b : sum->a;
        }
        std::optional<ExprId> row, scale;
        bool divides = false;
        for (const auto& [factor, inverse] : factors(product)) {
            if (is_same_for_rows(factor) && !inverse)
                form_.gains.push_back(factor);
            else if (kernel_[factor].type.dims.size() < kernel_[product].type.dims.size() && !scale)
                scale = factor, divides = inverse;
            else if (!row && !inverse)
                row = factor;
            else
                return std::nullopt;
        }
        if (!row || !scale || !read_row(*row) || !read_scale(*scale, divides, *row))
            return std::nullopt;
        return form_;
    }

  private:
    struct Factor {
        ExprId expr;
        bool inverse;  // it divides
    };

    bool is_arithmetic(ExprId id) { return arithmetic_[ir::index(numbering_.representative(id))]; }

    // A number or a vector that all rows share, computed from parameters by arithmetic alone.
    bool is_same_for_rows(ExprId id) const {
        const auto& dims = kernel_[id].type.dims;
        return (dims.empty() || dims == std::vector{along_}) && arithmetic_[ir::index(id)];
    }

    // The factors of products and quotients. Empty if there are more than kMaxFactors, which no
    // norm has: a chain of squarings would have exponentially many.
    std::vector<Factor> factors(ExprId id) {
        constexpr std::size_t kMaxFactors = 64;
        std::vector<Factor> found, open{{id, false}};
        while (!open.empty()) {
            const auto [next, inverse] = open.back();
            open.pop_back();
            const auto* binary = numbering_.as<ir::Binary>(next);
            const bool divides = binary && binary->op == BinaryOp::div;
            if (!binary || (binary->op != BinaryOp::mul && !divides) || is_same_for_rows(next) ||
                formulas_.mean_of(next)) {
                found.push_back({next, inverse});
            } else {
                open.push_back({binary->b, inverse != divides});
                open.push_back({binary->a, inverse});
            }
            if (found.size() + open.size() > kMaxFactors) return {};
        }
        return found;
    }

    // Whether the row is a parameter, or a parameter minus its mean; sets `x` and `centered`.
    bool read_row(ExprId row) {
        if (const auto centered = formulas_.read(row, norm_.centered)) {
            form_.centered = true;
            row = centered->exprs.at('x');
        }
        const auto* param = numbering_.as<ir::Param>(row);
        if (param) form_.x = param->index;
        return param != nullptr;
    }

    // Whether `scale` is 1 / sqrt(mean(row * row) + eps) or, if the row is divided by `scale`, the
    // reciprocal of that; sets `eps`.
    bool read_scale(ExprId scale, bool divides, ExprId row) {
        const auto read =
            formulas_.read(scale, divides ? norm_.deviation : norm_.inverse, {{{'r', row}}, {}});
        if (read && read->numbers.contains('e')) form_.eps = read->numbers.at('e');
        return read.has_value();
    }

    const ir::Kernel& kernel_;
    Numbering numbering_;
    ir::DimId along_;
    FormulaReader formulas_;
    NormFormulas norm_;
    std::vector<bool> arithmetic_;  // which expressions are arithmetic on parameters and literals
    NormForm form_;
};

}  // namespace

std::optional<NormForm> read_norm_form(const ir::Kernel& kernel) {
    if (kernel.outputs.size() != 1 || kernel.outputs.front().tensor.type.dims.empty())
        return std::nullopt;
    return NormReader(kernel).read();
}

}  // namespace fact::match
