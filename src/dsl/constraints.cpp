// The constraints in a kernel's header: `where N = 3*H*D, K % 8 == 0`. Functions of Scope
// (dsl/scope.h).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dsl/scope.h"

namespace fact::dsl {

// Called before the tensors are declared, so that N and 3*H*D are one dimension in them.
void Scope::declare_factored_dims(const std::vector<ast::Constraint>& constraints) {
    for (const ast::Constraint& constraint : constraints)
        if (constraint.factored) define_factored_dim(constraint);
}

void Scope::define_factored_dim(const ast::Constraint& constraint) {
    const auto fail = [&](code::Code code, Span at, std::string message, std::string fix) {
        reporter_.error(code, at, std::move(message), std::move(fix));
    };
    const ast::Word& name = constraint.dim.factors.front();
    if (constraint.dim.factors.size() > 1 || (name.text[0] >= '0' && name.text[0] <= '9'))
        return fail(code::constraint, constraint.dim.span,
                    "The left side of '=' must be one symbol.", "Swap the sides: `N = 3*H*D`.");
    declare_symbols({constraint.dim, *constraint.factored});
    const auto left = factor(name);
    if (!left) return;
    const auto parts = factors(*constraint.factored);
    if (!parts) return;
    ir::Dim& dim = kernel_.dims[ir::index(*left)];
    if (!dim.factors.empty() || dim.extent)
        return fail(code::defined_twice, name.span,
                    fmt::format("Dimension {} is defined twice.", dim.name),
                    "Remove one of the two definitions.");
    const auto flat = kernel_.factors(*parts);
    if (std::find(flat.begin(), flat.end(), *left) != flat.end())
        return fail(code::constraint, constraint.span,
                    fmt::format("Dimension {} is a factor of itself.", dim.name),
                    "Name other dimensions after '='.");
    const bool constant = flat.size() == 1 && kernel_[flat.front()].extent.has_value();
    for (const ir::Dim& other : kernel_.dims) {
        if (!constant &&
            std::find(other.factors.begin(), other.factors.end(), *left) != other.factors.end())
            return fail(
                code::constraint, name.span,
                fmt::format("Dimension {} is already a factor of {}.", dim.name, other.name),
                "Define it earlier in the `where` clause.");
        if (other.factors == flat && flat.size() > 1)
            return fail(code::constraint, constraint.span,
                        fmt::format("This product of dimensions is already called {}.", other.name),
                        fmt::format("Write {} instead of {}.", other.name, dim.name));
    }
    if (constant)
        dim.extent = kernel_[flat.front()].extent;
    else
        dim.factors = flat;
    named_factored_dims_.emplace_back(*left, name.span);
}

void Scope::declare_multiples(const std::vector<ast::Constraint>& constraints) {
    for (const ast::Constraint& constraint : constraints) {
        if (constraint.factored) continue;
        const auto dim = this->dim(constraint.dim);
        if (!dim || !builder_.check_dims({*dim}, constraint.dim.span)) continue;
        std::int32_t of = 0;
        const std::string_view digits = constraint.divisor.text;
        std::from_chars(digits.data(), digits.data() + digits.size(), of);
        if (of < 1)
            reporter_.error(code::dim_extent, constraint.divisor.span,
                            fmt::format("{} is not a valid divisor.", digits.substr(0, 40)),
                            "Use a number from 1 to 2147483647.");
        else
            kernel_.multiples.push_back({*dim, of});
    }
}

}  // namespace fact::dsl
