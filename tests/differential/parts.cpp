#include "parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/extents.h"

namespace fact::differential {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

Dims Parts::some(const Dims& dims, int percent_each) {
    Dims kept;
    for (const DimId dim : dims)
        if (chance(percent_each)) kept.push_back(dim);
    return kept;
}

Dims Parts::shuffled(Dims dims) {
    for (std::size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[below(i)]);
    return dims;
}

DimId Parts::dim(const std::string& name, std::initializer_list<std::int64_t> extents) {
    const DimId id = kernel().dim(name);
    program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
    if (program_.extents[ir::index(id)] == ir::kUnknownExtent && !kernel()[id].extent)
        program_.extents[ir::index(id)] = pick(extents);
    return id;
}

DimId Parts::add_dim(ir::Dim dim) {
    kernel().dims.push_back(std::move(dim));
    program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
    return static_cast<DimId>(kernel().dims.size() - 1);
}

Dims Parts::batch() {
    const Dims all{dim("B", {1, 2, 3}), dim("H", {2, 4}), dim("G", {1, 3}), dim("R", {2, 3})};
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(1 + below(all.size()))};
}

ExprId Parts::param(const std::string& stem, DType dtype, Dims dims) {
    const std::string name = fmt::format("{}{}", stem, kernel().params.size());
    kernel().params.push_back({name, {dtype, std::move(dims)}, {}});
    return b_.param(static_cast<std::uint32_t>(kernel().params.size() - 1));
}

void Parts::output(ExprId value, DType dtype) {
    const std::string name = fmt::format("y{}", kernel().outputs.size());
    kernel().outputs.push_back({{name, {dtype, kernel()[value].type.dims}, {}}, value});
}

void Parts::tell_extents() {
    std::vector<bool> given(kernel().dims.size());
    for (const ir::Tensor& tensor : kernel().params)
        for (const DimId dim : tensor.type.dims) given[ir::index(dim)] = true;
    const auto known = ir::known_dims(kernel(), std::move(given));
    Dims unknown;
    for (std::size_t d = 0; d < known.size(); ++d)
        if (!known[d]) unknown.push_back(static_cast<DimId>(d));
    if (!unknown.empty()) param("told", DType::f32, unknown);
}

ExprId Parts::laid_out(const std::string& stem, DType dtype, Dims dims) {
    Dims memory = dims;
    if (memory.size() > 2 && chance(25))
        memory = shuffled(memory);
    else if (memory.size() >= 2 && chance(40))
        std::swap(memory[memory.size() - 1], memory[memory.size() - 2]);
    if (memory.size() < 3 || !chance(15))
        return b_.permute(param(stem, dtype, std::move(memory)), std::move(dims));
    // The heads of a projection, say: two neighbours as one dimension.
    const auto first = memory.begin() + static_cast<std::ptrdiff_t>(below(memory.size() - 1));
    Dims merged(memory.begin(), first);
    merged.push_back(kernel().factored_dim({first[0], first[1]}));
    merged.insert(merged.end(), first + 2, memory.end());
    program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
    const ExprId apart = b_.view(param(stem, dtype, std::move(merged)), std::move(memory));
    return b_.permute(apart, std::move(dims));
}

ExprId Parts::tame(ExprId x) {
    switch (below(14)) {
        case 0:
            return b_.unary(UnaryOp::tanh, x);
        case 1:
            return b_.unary(UnaryOp::sigmoid, x);
        case 2:
            return b_.unary(UnaryOp::relu, x);
        case 3:
            return b_.unary(UnaryOp::gelu, x);
        case 4:
            return b_.unary(UnaryOp::gelu_tanh, x);
        case 5:
            return b_.unary(UnaryOp::silu, x);
        case 6:
            return b_.unary(UnaryOp::mish, x);
        case 7:
            return b_.unary(UnaryOp::softplus, x);
        case 8:
            return b_.unary(UnaryOp::abs, x);
        case 9:
            return b_.unary(UnaryOp::erf, x);
        case 10:
            return b_.unary(UnaryOp::exp, b_.unary(UnaryOp::neg, b_.unary(UnaryOp::abs, x)));
        case 11:
            return b_.binary(BinaryOp::max, b_.binary(BinaryOp::min, x, b_.literal(2.5)),
                             b_.literal(-1.5));
        case 12:  // leaky
            return b_.binary(BinaryOp::max, x, b_.binary(BinaryOp::mul, x, b_.literal(0.125)));
        default:
            return b_.unary(UnaryOp::sqrt,
                            b_.binary(BinaryOp::add, b_.unary(UnaryOp::abs, x), b_.literal(0.5)));
    }
}

ExprId Parts::operand(const Dims& dims, DType dtype) {
    const std::size_t kind = below(6);
    Dims own;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const bool last = i + 1 == dims.size(), row = i + 2 == dims.size();
        if (kind == 0 || (kind == 1 && last) || (kind == 2 && row)) own.push_back(dims[i]);
    }
    if (kind == 3) own = shuffled(some(dims, 60));
    if (kind == 4) return b_.literal(pick({0.5, -0.75, 1.25, 2.0}));
    return param("p", chance(30) ? DType::f32 : dtype, own);
}

ExprId Parts::mask(ExprId x) {
    const Dims dims = kernel()[x].type.dims;
    if (dims.size() < 2) return x;
    // Any two of its coordinates, mostly those of the matrix.
    const Dims order = chance(30) ? shuffled(dims) : dims;
    const DimId row = order.end()[-2], column = order.back();
    const ExprId keep = b_.binary(BinaryOp::ge, b_.index(row), b_.index(column));
    return b_.select(keep, x, b_.literal(pick({0.0, -1.0})));
}

ExprId Parts::epilogue(ExprId x, int least, int most, DType dtype) {
    std::vector<ExprId> values{x};
    const int steps = least + static_cast<int>(below(static_cast<std::size_t>(most - least + 1)));
    for (int i = 0; i < steps; ++i) {
        const ExprId last = values.back();
        const Dims dims = kernel()[x].type.dims;
        switch (below(6)) {
            case 0:
            case 1:
                values.push_back(tame(last));
                break;
            case 2:
                values.push_back(
                    b_.binary(pick({BinaryOp::add, BinaryOp::sub}), last, operand(dims, dtype)));
                break;
            case 3:
                values.push_back(b_.binary(BinaryOp::mul, tame(last),
                                           b_.unary(UnaryOp::tanh, values[below(values.size())])));
                break;
            case 4:
                values.push_back(mask(last));
                break;
            default:
                values.push_back(b_.binary(
                    BinaryOp::div, last,
                    b_.binary(BinaryOp::add, b_.unary(UnaryOp::abs, tame(last)), b_.literal(1.0))));
        }
    }
    return values.back();
}

ExprId Parts::product(DType dtype, Dims a_batch, Dims b_batch) {
    a_batch.insert(a_batch.end(), {m(), k()});
    b_batch.insert(b_batch.end(), {k(), n()});
    const ExprId sum = b_.product(laid_out("a", dtype, a_batch), laid_out("b", dtype, b_batch));
    return b_.binary(BinaryOp::mul, sum, b_.literal(1 / std::sqrt(extent(k()))));
}

ExprId Parts::mean(ExprId x, const Dims& over) {
    ExprId count = b_.extent(over[0]);
    for (std::size_t i = 1; i < over.size(); ++i)
        count = b_.binary(BinaryOp::mul, count, b_.extent(over[i]));
    return b_.binary(BinaryOp::div, b_.reduce(ReduceOp::sum, x, over), count);
}

ExprId Parts::layer_norm(ExprId x, const Dims& over) {
    const ExprId centred = b_.binary(BinaryOp::sub, x, mean(x, over));
    const ExprId variance = mean(b_.binary(BinaryOp::mul, centred, centred), over);
    return b_.binary(
        BinaryOp::mul, centred,
        b_.unary(UnaryOp::rsqrt, b_.binary(BinaryOp::add, variance, b_.literal(1e-3))));
}

ExprId Parts::scaled_norm(ExprId x, DimId along) {
    Dims over = kernel()[x].type.dims;
    std::erase(over, along);
    const ExprId gained =
        b_.binary(BinaryOp::mul, layer_norm(x, over), param("gain", DType::f32, {along}));
    const ExprId shifted = b_.binary(BinaryOp::add, gained, param("shift", DType::f32, {along}));
    return chance(60) ? b_.unary(UnaryOp::relu, shifted) : shifted;
}

ExprId Parts::softmax(ExprId x, const Dims& over) {
    const ExprId e =
        b_.unary(UnaryOp::exp, b_.binary(BinaryOp::sub, x, b_.reduce(ReduceOp::max, x, over)));
    return b_.binary(BinaryOp::div, e, b_.reduce(ReduceOp::sum, e, over));
}

ExprId Parts::running(ExprId x, const Dims& over) {
    const bool backwards = chance(30);
    if (chance(70)) return b_.scan(ir::ScanOp::sum, x, over, backwards);
    // Of factors so close to 1 that hundreds of them stay within a few units.
    const ExprId small = b_.binary(BinaryOp::mul, b_.unary(UnaryOp::tanh, x), b_.literal(0.005));
    const ExprId factors = b_.binary(BinaryOp::add, small, b_.literal(1.0));
    return b_.scan(ir::ScanOp::product, factors, over, backwards);
}

ExprId Parts::reduced(ExprId x, const Dims& over) {
    switch (below(6)) {
        case 0:
            return layer_norm(x, over);
        case 1:
            return softmax(x, over);
        case 2:
            return mean(x, over);
        case 3:
            return b_.reduce(pick({ReduceOp::max, ReduceOp::min}), x, over);
        case 4:
            return running(x, over);
        default:
            return b_.unary(UnaryOp::log,
                            b_.reduce(ReduceOp::sum, b_.unary(UnaryOp::exp, tame(x)), over));
    }
}

}  // namespace fact::differential
