#include "ir/typing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/dims.h"
#include "ir/extents.h"
#include "support/result.h"

namespace fact::ir {
namespace {

using Typing = std::variant<Type, TypeError>;
using Dims = std::vector<DimId>;

TypeError no_broadcast(const Kernel& kernel, const Dims& a, const Dims& b) {
    const std::string of_a = to_string(kernel, a), of_b = to_string(kernel, b);
    // The same extents under other names, such as F and E after `where F = E`.
    const bool same_extents = a.size() == b.size() && kernel.factors(a) == kernel.factors(b);
    return {Fault::broadcast,
            fmt::format("Dimensions {} and {} do not broadcast: neither has all of the other's.",
                        of_a, of_b),
            same_extents
                ? fmt::format("The extents are equal, the names are not: rename one operand's "
                              "dimensions by `.as({})`.",
                              of_a.substr(1, of_a.size() - 2))
                : "Give one operand every dimension of the other, under the same names, or repeat "
                  "it along those it lacks: `.expand(...)`."};
}

TypeError needs_bool(std::string_view what, DType dtype) {
    return {Fault::needs_bool, fmt::format("{} must be bool, not {}.", what, info(dtype).name),
            "Compare it with something, for example `x != 0`."};
}

bool either_is_index(const Kernel& kernel, ExprId a, ExprId b) {
    return std::holds_alternative<Index>(kernel[a].node) ||
           std::holds_alternative<Index>(kernel[b].node);
}

Typing literal_type(const Literal& literal, const Type& wanted) {
    const double v = literal.value;
    if (wanted.dtype == DType::f32 && !std::isnan(v)) return Type{DType::f32, {}};
    if (wanted.dtype == DType::boolean && (v == 0 || v == 1)) return Type{DType::boolean, {}};
    if (wanted.dtype == DType::i32 && v == std::trunc(v) && v >= -0x1p31 && v < 0x1p31)
        return Type{DType::i32, {}};
    return TypeError{Fault::literal,
                     fmt::format("{} is not a valid {} literal.", v, info(wanted.dtype).name),
                     "Literals are f32 numbers, i32 numbers, true and false."};
}

Typing unary_type(const Unary& node, const Type& x) {
    if (node.op == UnaryOp::logical_not) {
        if (x.dtype != DType::boolean) return needs_bool("The operand of 'not'", x.dtype);
        return x;
    }
    const bool keeps_integers = !info(node.op).of_integer.empty();
    return Type{keeps_integers ? arithmetic_type(x.dtype, x.dtype) : DType::f32, x.dims};
}

Typing binary_type(const Kernel& kernel, const Binary& node, const Type& a, const Type& b) {
    auto dims = broadcast(a.dims, b.dims);
    // An index broadcasts with anything: `index(M) <= index(N)` is a matrix.
    if (!dims && either_is_index(kernel, node.a, node.b)) {
        dims = a.dims;
        for (const DimId dim : b.dims)
            if (!contains(a.dims, dim)) dims->push_back(dim);
    }
    if (!dims) return no_broadcast(kernel, a.dims, b.dims);
    switch (node.op) {
        case BinaryOp::logical_and:
        case BinaryOp::logical_or:
            for (const DType dtype : {a.dtype, b.dtype})
                if (dtype != DType::boolean)
                    return needs_bool(fmt::format("An operand of '{}'", info(node.op).name), dtype);
            return Type{DType::boolean, *dims};
        case BinaryOp::lt:
        case BinaryOp::le:
        case BinaryOp::gt:
        case BinaryOp::ge:
        case BinaryOp::eq:
        case BinaryOp::ne:
            return Type{DType::boolean, *dims};
        case BinaryOp::div:
        case BinaryOp::pow:
            return Type{DType::f32, *dims};
        case BinaryOp::add:
        case BinaryOp::sub:
        case BinaryOp::mul:
        case BinaryOp::min:
        case BinaryOp::max:
            return Type{arithmetic_type(a.dtype, b.dtype), *dims};
    }
    throw InternalError("an operator without a type");
}

Typing select_type(const Kernel& kernel, const Type& c, const Type& a, const Type& b) {
    if (c.dtype != DType::boolean) return needs_bool("The condition of 'where'", c.dtype);
    const bool both_bool = a.dtype == DType::boolean && b.dtype == DType::boolean;
    const DType dtype = both_bool ? DType::boolean : arithmetic_type(a.dtype, b.dtype);
    for (const Dims* all : {&a.dims, &b.dims, &c.dims})
        if (contains(*all, a.dims) && contains(*all, b.dims) && contains(*all, c.dims))
            return Type{dtype, *all};
    if (!broadcast(a.dims, b.dims)) return no_broadcast(kernel, a.dims, b.dims);
    return no_broadcast(kernel, c.dims, *broadcast(a.dims, b.dims));
}

Typing permute_type(const Kernel& kernel, const Type& x, const Dims& order) {
    if (order.size() == x.dims.size() &&
        std::is_permutation(order.begin(), order.end(), x.dims.begin()))
        return Type{x.dtype, order};
    return TypeError{Fault::permutation,
                     fmt::format("{} is not a reordering of {}.", to_string(kernel, order),
                                 to_string(kernel, x.dims)),
                     "Name each of the operand's dimensions once."};
}

Typing expand_type(const Kernel& kernel, const Type& x, const Dims& dims) {
    for (const DimId dim : dims)
        if (std::count(dims.begin(), dims.end(), dim) > 1)
            return TypeError{Fault::repeated_dim,
                             fmt::format("`.expand` has dimension {} twice.", kernel[dim].name),
                             "Give each dimension a name of its own."};
    if (contains(dims, x.dims)) return Type{x.dtype, dims};
    return TypeError{Fault::expand,
                     fmt::format("{} lacks a dimension of {}: `.expand` can only add dimensions.",
                                 to_string(kernel, dims), to_string(kernel, x.dims)),
                     "Name all of the operand's dimensions, and those to repeat it along."};
}

std::optional<TypeError> precision_error(Precision precision, DType operands) {
    if (precision == Precision::exact || operands == DType::f32) return {};
    return TypeError{Fault::precision,
                     fmt::format("A precision applies only to f32 operands, but these are {}.",
                                 info(operands).name),
                     "Leave the precision out."};
}

Typing product_type(const Kernel& kernel, const Product& node, const Type& a, const Type& b) {
    const auto text = [&](const Dims& dims) { return to_string(kernel, dims); };
    if (a.dims.size() < 2 || b.dims.size() < 2)
        return TypeError{Fault::product_rank,
                         fmt::format("A product takes two matrices, but one operand has dimensions "
                                     "{}.",
                                     text(a.dims.size() < 2 ? a.dims : b.dims)),
                         "Write an elementwise product with `*`, or give the operand two "
                         "dimensions."};
    const DimId k = a.dims.back(), n = b.dims.back(), m = a.dims.end()[-2];
    if (b.dims.end()[-2] != k)
        return TypeError{
            Fault::contraction,
            fmt::format("The product sums over {} of {} but over {} of {}.", kernel[k].name,
                        text(a.dims), kernel[b.dims.end()[-2]].name, text(b.dims)),
            n == k && std::holds_alternative<Permute>(kernel[node.b].node)
                ? "Leave out the right operand's `.T`."
            : n == k ? "Transpose the right operand with `.T`."
                     : "The left operand's last dimension must be the right operand's "
                       "second-last."};
    const Dims a_batch(a.dims.begin(), a.dims.end() - 2), b_batch(b.dims.begin(), b.dims.end() - 2);
    for (const DimId dim : {m, n, k})
        if (m == n || contains(a_batch, dim) || contains(b_batch, dim))
            return TypeError{Fault::product_dims,
                             fmt::format("The product of {} and {} has dimension {} twice.",
                                         text(a.dims), text(b.dims), kernel[dim].name),
                             "Rows, columns, the summed dimension and batches need names of their "
                             "own."};
    auto dims = broadcast(a_batch, b_batch);
    if (!dims)
        return TypeError{Fault::product_batch,
                         fmt::format("Batch dimensions {} and {} do not broadcast: neither has "
                                     "all of the other's.",
                                     text(a_batch), text(b_batch)),
                         "Give one operand every batch dimension of the other."};
    if (!info(a.dtype).floating || !info(b.dtype).floating || a.dtype != b.dtype)
        return TypeError{Fault::product_types,
                         fmt::format("A product takes operands of one floating type, not {} and "
                                     "{}.",
                                     info(a.dtype).name, info(b.dtype).name),
                         "Cast one operand, for example `bf16(x)`; arithmetic gives f32."};
    if (auto fault = precision_error(node.precision, a.dtype)) return *std::move(fault);
    dims->push_back(m);
    dims->push_back(n);
    return Type{DType::f32, *dims};
}

Typing view_type(const Kernel& kernel, const Type& x, const Dims& dims) {
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (std::count(dims.begin(), dims.end(), dims[i]) > 1)
            return TypeError{Fault::repeated_dim,
                             fmt::format("The view has dimension {} twice.", kernel[dims[i]].name),
                             "Give each dimension a name of its own."};
    if (kernel.same_factors(x.dims, dims)) return Type{x.dtype, dims};
    return TypeError{Fault::view,
                     fmt::format("{} is not a view of {}: their elements do not follow in the same "
                                 "order.",
                                 to_string(kernel, dims), to_string(kernel, x.dims)),
                     "Split factored dimensions or merge neighbouring ones, for example "
                     "`x.view(M, G*D)` of [M, G, D]."};
}

Typing flip_type(const Kernel& kernel, const Flip& node, const Type& x) {
    if (!contains(x.dims, node.dim))
        return TypeError{Fault::flip,
                         fmt::format("{} has no dimension {} to flip.", to_string(kernel, x.dims),
                                     kernel[node.dim].name),
                         "Name a dimension of the operand; a view splits a factored one."};
    if (!kernel[node.dim].extent)
        return TypeError{
            Fault::flip,
            fmt::format("Dimension {} has no constant extent, so it cannot be flipped.",
                        kernel[node.dim].name),
            "Write the extent as a number: `flip(x.view(M, H, 2, 64), over: 2)`."};
    return x;
}

Typing window_type(const Kernel& kernel, const Window& node, const Type& x) {
    Type type = x;
    Dims taps;
    for (const DimId places : node.places) {
        const auto& rule = kernel[places].window;
        if (!rule)
            return TypeError{
                Fault::window,
                fmt::format("Dimension {} is not made of windows.", kernel[places].name),
                "Say what it is made of: `x.window(H: P by 3)`."};
        const auto at = std::find(type.dims.begin(), type.dims.end(), rule->of);
        if (at == type.dims.end())
            return TypeError{Fault::window,
                             fmt::format("{} has no dimension {} to see through windows.",
                                         to_string(kernel, x.dims), kernel[rule->of].name),
                             "Name a dimension of the operand; a view splits a factored one."};
        if (!constant_extent(kernel, rule->taps))
            return TypeError{Fault::window,
                             fmt::format("A window must have a constant length, which {} has not.",
                                         kernel[rule->taps].name),
                             "Write the length as a number, or give it a name: `where R = 3`."};
        *at = places;
        taps.push_back(rule->taps);
    }
    type.dims.insert(type.dims.end(), taps.begin(), taps.end());
    for (const DimId dim : type.dims)
        if (std::count(type.dims.begin(), type.dims.end(), dim) > 1)
            return TypeError{Fault::repeated_dim,
                             fmt::format("The windows have dimension {} twice.", kernel[dim].name),
                             "Name the windows' lengths: `where R = 3, S = 3`."};
    return type;
}

Typing reduce_type(const Kernel& kernel, const Dims& over, const Type& x) {
    Dims remaining = x.dims;
    for (const DimId dim : over) {
        const auto at = std::find(remaining.begin(), remaining.end(), dim);
        if (at == remaining.end())
            return TypeError{Fault::reduction,
                             fmt::format("{} has no dimension {} left to go over.",
                                         to_string(kernel, x.dims), kernel[dim].name),
                             "Name dimensions of the operand, each once."};
        remaining.erase(at);
    }
    if (over.empty())
        return TypeError{Fault::reduction, "A reduction goes over at least one dimension.",
                         "Name it, for example `over: N`."};
    return Type{arithmetic_type(x.dtype, x.dtype), remaining};
}

Typing attention_type(const Kernel& kernel, const Attention& node) {
    const Type &q = kernel[node.q].type, &k = kernel[node.k].type, &v = kernel[node.v].type;
    const auto wrong = [&](std::string what, std::string fix) {
        return TypeError{Fault::attention, std::move(what), std::move(fix)};
    };
    if (q.dims.size() < 2 || k.dims.size() < 2 || v.dims.size() < 2)
        return wrong("Attention takes matrices.", "Give q, k and v at least two dimensions.");
    if (q.dtype != k.dtype || q.dtype != v.dtype || !info(q.dtype).floating)
        return wrong(
            fmt::format("Attention takes operands of one floating type, not {}, {} and {}.",
                        info(q.dtype).name, info(k.dtype).name, info(v.dtype).name),
            "Cast them alike, for example `bf16(q)`.");
    if (auto fault = precision_error(node.precision, q.dtype)) return *std::move(fault);
    const DimId m = q.dims.end()[-2], n = k.dims.end()[-2], e = v.dims.back();
    if (q.dims.back() != k.dims.back() || v.dims.end()[-2] != n)
        return wrong(fmt::format("Attention takes q[M, D], k[N, D] and v[N, E], not {}, {} and {}.",
                                 to_string(kernel, q.dims), to_string(kernel, k.dims),
                                 to_string(kernel, v.dims)),
                     "Reorder the operands with `.permute` so that these come last.");
    const Dims batch(q.dims.begin(), q.dims.end() - 2);
    const Dims k_batch(k.dims.begin(), k.dims.end() - 2), v_batch(v.dims.begin(), v.dims.end() - 2);
    if (!contains(batch, k_batch) || !contains(batch, v_batch))
        return wrong("k and v have batch dimensions that q lacks.",
                     "Give q every batch dimension of k and v, under the same names.");
    const DimId d = q.dims.back();
    for (const DimId dim : {m, n, d, e})
        if (m == n || m == d || m == e || n == d || n == e || contains(batch, dim))
            return wrong(fmt::format("Attention over {}, {} and {} has a dimension twice.",
                                     to_string(kernel, q.dims), to_string(kernel, k.dims),
                                     to_string(kernel, v.dims)),
                         "Batches, rows, columns and features need names of their own.");
    if (node.cap && !(*node.cap > 0 && std::isfinite(static_cast<float>(*node.cap))))
        return wrong("The cap of attention must be a positive and finite number.",
                     "Use a number such as 50.0, or leave it out.");
    if (node.window && !(*node.window > 0 && *node.window <= kMaxWindow))
        return wrong(
            fmt::format("The window of attention must be a whole number from 1 to {}.", kMaxWindow),
            "Write how many columns a row sees up to its own, such as 4096.");
    Dims dims = batch;
    dims.push_back(m);
    if (node.bias) {
        Dims scores = dims;
        scores.push_back(n);
        const Type& bias = kernel[*node.bias].type;
        if (bias.dtype == DType::boolean || !contains(scores, bias.dims))
            return wrong(fmt::format("The bias of attention must be a number for each of {}, or "
                                     "broadcast to it.",
                                     to_string(kernel, scores)),
                         "Turn a mask into a bias: `where(mask, 0.0, -inf)`.");
    }
    dims.push_back(e);
    return Type{DType::f32, dims};
}

}  // namespace

std::variant<Type, TypeError> type_of(const Kernel& kernel, const Node& node, const Type& wanted) {
    bool operands_exist = true;
    for_each_operand(node, [&](ExprId id) { operands_exist &= index(id) < kernel.exprs.size(); });
    if (!operands_exist) return TypeError{Fault::reference, "An operand is not an expression.", ""};
    const auto type = [&](ExprId id) -> const Type& { return kernel[id].type; };
    return std::visit(
        overloaded{
            [&](const Param& n) -> Typing {
                if (n.index < kernel.params.size()) return kernel.params[n.index].type;
                return TypeError{Fault::reference, "A parameter does not exist.", ""};
            },
            [&](const Literal& n) { return literal_type(n, wanted); },
            [&](const Index& n) -> Typing {
                if (index(n.dim) < kernel.dims.size()) return Type{DType::i32, {n.dim}};
                return TypeError{Fault::reference, "A dimension does not exist.", ""};
            },
            [&](const Unary& n) { return unary_type(n, type(n.x)); },
            [&](const Binary& n) { return binary_type(kernel, n, type(n.a), type(n.b)); },
            [&](const Select& n) {
                return select_type(kernel, type(n.condition), type(n.a), type(n.b));
            },
            [&](const Cast& n) -> Typing {
                if (wanted.dtype != DType::f64) return Type{wanted.dtype, type(n.x).dims};
                return TypeError{Fault::cast, "Kernels do not compute in f64.", "Use f32."};
            },
            [&](const Permute& n) { return permute_type(kernel, type(n.x), wanted.dims); },
            [&](const Expand& n) { return expand_type(kernel, type(n.x), wanted.dims); },
            [&](const View& n) { return view_type(kernel, type(n.x), wanted.dims); },
            [&](const Extent& n) -> Typing {
                if (index(n.dim) < kernel.dims.size()) return Type{DType::i32, {}};
                return TypeError{Fault::reference, "A dimension does not exist.", ""};
            },
            [&](const Flip& n) -> Typing {
                if (index(n.dim) < kernel.dims.size()) return flip_type(kernel, n, type(n.x));
                return TypeError{Fault::reference, "A dimension does not exist.", ""};
            },
            [&](const Window& n) -> Typing {
                for (const DimId dim : n.places)
                    if (index(dim) >= kernel.dims.size())
                        return TypeError{Fault::reference, "A dimension does not exist.", ""};
                return window_type(kernel, n, type(n.x));
            },
            [&](const Reduce& n) { return reduce_type(kernel, n.over, type(n.x)); },
            [&](const Scan& n) -> Typing {
                auto reduced = reduce_type(kernel, n.over, type(n.x));
                if (auto* of_scan = std::get_if<Type>(&reduced)) of_scan->dims = type(n.x).dims;
                return reduced;
            },
            [&](const Attention& n) { return attention_type(kernel, n); },
            [&](const LogSumExp& n) -> Typing {
                if (!std::holds_alternative<Attention>(kernel[n.attention].node))
                    return TypeError{Fault::attention, "Only attention has scores of its own.",
                                     "Give it the value of `attention(...)`, before any cast; of "
                                     "other values take `logsumexp(x, over: N)`."};
                const Dims& dims = type(n.attention).dims;
                return Type{DType::f32, {dims.begin(), dims.end() - 1}};
            },
            [&](const Product& n) { return product_type(kernel, n, type(n.a), type(n.b)); },
        },
        node);
}

bool stores_as(DType value, DType stored) {
    if (info(value).floating && info(stored).floating) return true;
    return value == stored || (value == DType::i32 && stored == DType::i64);
}

std::string to_string(const Kernel& kernel, const std::vector<DimId>& dims) {
    std::string out = "[";
    for (const DimId dim : dims) {
        if (out.size() > 1) out += ", ";
        out += index(dim) < kernel.dims.size() ? kernel[dim].name : "?";
    }
    return out + "]";
}

}  // namespace fact::ir
