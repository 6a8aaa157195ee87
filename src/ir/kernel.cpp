#include "ir/kernel.h"

#include <algorithm>
#include <charconv>

#include "ir/dims.h"
#include "ir/typing.h"
#include "support/result.h"

namespace fact::ir {
namespace {

// Appends the expression, or throws if it has no type. `wanted` as in type_of.
ExprId append(Kernel& kernel, Node node, const Type& wanted = {}, std::string name = {}) {
    auto typing = type_of(kernel, node, wanted);
    if (const auto* error = std::get_if<TypeError>(&typing)) throw InternalError(error->message);
    return kernel.add({node, std::get<Type>(std::move(typing)), std::move(name), {}});
}

}  // namespace

DimId Kernel::dim(const std::string& name_or_digits) {
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (dims[i].name == name_or_digits) return static_cast<DimId>(i);
    Dim added{name_or_digits, {}};
    std::int64_t extent = 0;
    const char* end = name_or_digits.data() + name_or_digits.size();
    const auto [stop, failure] = std::from_chars(name_or_digits.data(), end, extent);
    if (failure == std::errc() && stop == end) added.extent = extent;
    dims.push_back(std::move(added));
    return static_cast<DimId>(dims.size() - 1);
}

DimId Kernel::factored_dim(const std::vector<DimId>& all) {
    if (all.size() == 1) return all.front();
    const auto flat = factors(all);
    // A product with an alias is a dimension of its own: with F = E, a tensor may be [8*E, 8*F].
    const bool aliased = std::any_of(
        all.begin(), all.end(), [&](DimId dim) { return dims[index(dim)].factors.size() == 1; });
    const auto name = factored_name(aliased ? all : flat);
    for (std::size_t i = 0; i < dims.size(); ++i)
        // Found if it has this name, or a name without "*", which a `where` clause gave it.
        if (dims[i].factors == flat &&
            (dims[i].name == name || (!aliased && dims[i].name.find('*') == std::string::npos)))
            return static_cast<DimId>(i);
    dims.push_back({name, {}, flat});
    return static_cast<DimId>(dims.size() - 1);
}

std::string Kernel::factored_name(const std::vector<DimId>& factors) const {
    std::string name;
    for (const DimId factor : factors) name += (name.empty() ? "" : "*") + dims[index(factor)].name;
    return name;
}

std::vector<DimId> Kernel::factors(const std::vector<DimId>& all) const {
    std::vector<DimId> flat;
    for (const DimId dim : all) {
        const auto& factors = dims[index(dim)].factors;
        if (factors.empty())
            flat.push_back(dim);
        else
            flat.insert(flat.end(), factors.begin(), factors.end());
    }
    return flat;
}

bool Kernel::same_factors(const std::vector<DimId>& a, const std::vector<DimId>& b) const {
    return std::ranges::equal(factors(a), factors(b), [&](DimId x, DimId y) {
        return x == y || (dims[index(x)].extent && dims[index(x)].extent == dims[index(y)].extent);
    });
}

ExprId Builder::param(std::uint32_t index) {
    // One expression per parameter, so that nothing is loaded twice.
    for (std::size_t i = 0; i < kernel_.exprs.size(); ++i)
        if (kernel_.exprs[i].node == Node{Param{index}}) return static_cast<ExprId>(i);
    const bool exists = index < kernel_.params.size();
    return append(kernel_, Param{index}, {}, exists ? kernel_.params[index].name : "");
}

ExprId Builder::literal(double value, DType dtype) {
    return append(kernel_, Literal{value}, {dtype, {}});
}

ExprId Builder::index(DimId dim) {
    return append(kernel_, Index{dim});
}

ExprId Builder::unary(UnaryOp op, ExprId x) {
    return append(kernel_, Unary{op, x});
}

ExprId Builder::binary(BinaryOp op, ExprId a, ExprId b) {
    return append(kernel_, Binary{op, a, b});
}

ExprId Builder::select(ExprId condition, ExprId a, ExprId b) {
    return append(kernel_, Select{condition, a, b});
}

ExprId Builder::cast(DType dtype, ExprId x) {
    if (kernel_[x].type.dtype == dtype) return x;
    return append(kernel_, Cast{x}, {dtype, {}});
}

ExprId Builder::permute(ExprId x, std::vector<DimId> dims) {
    const auto* inner = std::get_if<Permute>(&kernel_[x].node);
    if (inner && kernel_[x].name.empty()) x = inner->x;
    if (kernel_[x].type.dims == dims) return x;
    return append(kernel_, Permute{x}, {DType::f32, std::move(dims)});
}

ExprId Builder::transpose(ExprId x) {
    auto dims = kernel_[x].type.dims;
    if (dims.size() < 2) throw InternalError("transpose of fewer than two dimensions");
    std::swap(dims.end()[-1], dims.end()[-2]);
    return permute(x, std::move(dims));
}

ExprId Builder::expand(ExprId x, std::vector<DimId> dims) {
    if (kernel_[x].type.dims == dims) return x;
    return append(kernel_, Expand{x}, {DType::f32, std::move(dims)});
}

ExprId Builder::view(ExprId x, std::vector<DimId> dims) {
    if (kernel_[x].type.dims == dims) return x;
    return append(kernel_, View{x}, {DType::f32, std::move(dims)});
}

ExprId Builder::flip(ExprId x, DimId dim) {
    return append(kernel_, Flip{x, dim});
}

ExprId Builder::window(ExprId x, std::vector<DimId> places, double outside) {
    return append(kernel_, Window{x, std::move(places), outside});
}

ExprId Builder::extent(DimId dim) {
    return append(kernel_, Extent{dim});
}

ExprId Builder::reduce(ReduceOp op, ExprId x, std::vector<DimId> over) {
    return append(kernel_, Reduce{op, x, std::move(over)});
}

ExprId Builder::scan(ScanOp op, ExprId x, std::vector<DimId> over, bool backwards) {
    return append(kernel_, Scan{op, x, std::move(over), backwards});
}

ExprId Builder::log_sum_exp(ExprId attention) {
    return append(kernel_, LogSumExp{attention});
}
ExprId Builder::attention(const Attention& node) {
    return append(kernel_, node);
}

ExprId Builder::product(ExprId a, ExprId b, Precision precision) {
    return append(kernel_, Product{a, b, precision});
}

std::optional<std::vector<DimId>> broadcast(const std::vector<DimId>& a,
                                            const std::vector<DimId>& b) {
    if (contains(a, b)) return a;
    if (contains(b, a)) return b;
    return std::nullopt;
}

DType arithmetic_type(DType a, DType b) {
    if (info(a).floating || info(b).floating) return DType::f32;
    return a == DType::i64 || b == DType::i64 ? DType::i64 : DType::i32;
}

}  // namespace fact::ir
