#include "generator.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <random>

#include "ir/extents.h"
#include "support/result.h"

namespace fact::differential {
namespace {

using ir::BinaryOp;
using ir::DimId;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;
using Dims = std::vector<DimId>;

class Generator {
  public:
    explicit Generator(std::uint32_t seed) : random_(seed) {
        program_.kernel.name = fmt::format("program_{}", seed);
    }

    Program run() {
        using Family = void (Generator::*)();
        constexpr std::pair<const char*, Family> kFamilies[] = {
            {"product", &Generator::product_with_epilogue},
            {"product", &Generator::product_with_epilogue},
            {"batched product", &Generator::batched_product},
            {"rows", &Generator::rows},
            {"norm of a product", &Generator::reduction_after_product},
            {"product of a norm", &Generator::norm_before_product},
            {"gate", &Generator::gate},
            {"groups", &Generator::groups},
            {"attention", &Generator::attention},
            {"pipeline", &Generator::two_layers},
            {"columns", &Generator::column_statistics},
            {"pointwise", &Generator::pointwise}};
        const auto& [name, make] = kFamilies[below(std::size(kFamilies))];
        program_.family = name;
        (this->*make)();
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        if (auto why = ir::verify(kernel()); !why.empty()) throw InternalError(why);
        if (auto why = ir::solve_extents(kernel(), program_.extents); !why.empty())
            throw InternalError(why);
        return std::move(program_);
    }

  private:
    ir::Kernel& kernel() { return program_.kernel; }
    std::size_t below(std::size_t n) { return random_() % n; }
    bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
    template <class T>
    T pick(std::initializer_list<T> all) {
        return all.begin()[below(all.size())];
    }

    DimId dim(const std::string& name, std::initializer_list<std::int64_t> extents) {
        const DimId id = kernel().dim(name);
        program_.extents.resize(kernel().dims.size(), ir::kUnknownExtent);
        if (program_.extents[ir::index(id)] == ir::kUnknownExtent && !kernel()[id].extent)
            program_.extents[ir::index(id)] = pick(extents);
        return id;
    }
    DimId m() { return dim("M", {1, 7, 64, 100, 128, 193}); }
    DimId n() { return dim("N", {8, 24, 64, 104, 128, 200, 333}); }
    DimId k() { return dim("K", {8, 16, 72, 128, 256, 31}); }

    DType floating() { return pick({DType::bf16, DType::f16, DType::f32}); }

    ExprId param(const std::string& stem, DType dtype, Dims dims) {
        const std::string name = fmt::format("{}{}", stem, kernel().params.size());
        kernel().params.push_back({name, {dtype, std::move(dims)}, {}});
        return b_.param(static_cast<std::uint32_t>(kernel().params.size() - 1));
    }

    void output(ExprId value, DType dtype) {
        const std::string name = fmt::format("y{}", kernel().outputs.size());
        kernel().outputs.push_back({{name, {dtype, kernel()[value].type.dims}, {}}, value});
    }

    // Stored as some permutation, used in the wanted order.
    ExprId laid_out(const std::string& stem, DType dtype, Dims dims, bool keep_last) {
        Dims memory = dims;
        if (chance(40) && memory.size() >= 2 && !keep_last)
            std::swap(memory[memory.size() - 1], memory[memory.size() - 2]);
        return b_.permute(param(stem, dtype, memory), std::move(dims));
    }

    // Smooth functions whose results stay within a few units of 0 when x does.
    ExprId tame(ExprId x) {
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
                return b_.unary(UnaryOp::sqrt, b_.binary(BinaryOp::add, b_.unary(UnaryOp::abs, x),
                                                         b_.literal(0.5)));
        }
    }

    // Something that broadcasts to `dims`: a matrix, a row, a column, a scalar, a literal.
    ExprId operand(const Dims& dims, DType dtype) {
        Dims some;
        const std::size_t kind = below(5);
        for (std::size_t i = 0; i < dims.size(); ++i) {
            const bool last = i + 1 == dims.size(), row = i + 2 == dims.size();
            if (kind == 0 || (kind == 1 && last) || (kind == 2 && row)) some.push_back(dims[i]);
        }
        if (kind == 4) return b_.literal(pick({0.5, -0.75, 1.25, 2.0}));
        return param("p", chance(30) ? DType::f32 : dtype, some);
    }

    ExprId mask(ExprId x) {
        const Dims dims = kernel()[x].type.dims;
        if (dims.size() < 2) return x;
        const DimId row = dims.end()[-2], column = dims.back();
        const ExprId keep = b_.binary(BinaryOp::ge, b_.index(row), b_.index(column));
        return b_.select(keep, x, b_.literal(pick({0.0, -1.0})));
    }

    // A DAG of pointwise operations on top of x.
    ExprId epilogue(ExprId x, int least, int most, DType dtype) {
        std::vector<ExprId> values{x};
        const int steps =
            least + static_cast<int>(below(static_cast<std::size_t>(most - least + 1)));
        for (int i = 0; i < steps; ++i) {
            const ExprId last = values.back();
            const Dims dims = kernel()[x].type.dims;
            switch (below(6)) {
                case 0:
                case 1:
                    values.push_back(tame(last));
                    break;
                case 2:
                    values.push_back(b_.binary(pick({BinaryOp::add, BinaryOp::sub}), last,
                                               operand(dims, dtype)));
                    break;
                case 3:
                    values.push_back(
                        b_.binary(BinaryOp::mul, tame(last),
                                  b_.unary(UnaryOp::tanh, values[below(values.size())])));
                    break;
                case 4:
                    values.push_back(mask(last));
                    break;
                default:
                    values.push_back(
                        b_.binary(BinaryOp::div, last,
                                  b_.binary(BinaryOp::add, b_.unary(UnaryOp::abs, tame(last)),
                                            b_.literal(1.0))));
            }
        }
        return values.back();
    }

    // Divided by sqrt(K), so that sums stay tame.
    ExprId product(DType dtype, const Dims& batch, bool broadcast_b) {
        Dims a = batch, b;
        if (!broadcast_b) b = batch;
        a.insert(a.end(), {m(), k()});
        b.insert(b.end(), {k(), n()});
        const ExprId sum =
            b_.product(laid_out("a", dtype, a, false), laid_out("b", dtype, b, false));
        const double depth = static_cast<double>(program_.extents[ir::index(k())]);
        return b_.binary(BinaryOp::mul, sum, b_.literal(1 / std::sqrt(depth)));
    }

    void product_with_epilogue() {
        const DType dtype = floating();
        output(epilogue(product(dtype, {}, false), 0, 12, dtype), chance(70) ? dtype : DType::f32);
    }

    void batched_product() {
        const DType dtype = floating();
        Dims batch{dim("B", {1, 2, 3})};
        if (chance(50)) batch.push_back(dim("H", {2, 4}));
        ExprId y = epilogue(product(dtype, batch, chance(40)), 0, 5, dtype);
        if (batch.size() == 2 && chance(50)) {
            y = b_.permute(y, {batch[0], m(), batch[1], n()});
        }
        output(y, dtype);
    }

    ExprId mean(ExprId x, const Dims& over) {
        ExprId count = b_.extent(over[0]);
        for (std::size_t i = 1; i < over.size(); ++i)
            count = b_.binary(BinaryOp::mul, count, b_.extent(over[i]));
        return b_.binary(BinaryOp::div, b_.reduce(ReduceOp::sum, x, over), count);
    }
    ExprId layer_norm(ExprId x, const Dims& over) {
        const ExprId centred = b_.binary(BinaryOp::sub, x, mean(x, over));
        const ExprId variance = mean(b_.binary(BinaryOp::mul, centred, centred), over);
        return b_.binary(
            BinaryOp::mul, centred,
            b_.unary(UnaryOp::rsqrt, b_.binary(BinaryOp::add, variance, b_.literal(1e-3))));
    }
    ExprId softmax(ExprId x, const Dims& over) {
        const ExprId e =
            b_.unary(UnaryOp::exp, b_.binary(BinaryOp::sub, x, b_.reduce(ReduceOp::max, x, over)));
        return b_.binary(BinaryOp::div, e, b_.reduce(ReduceOp::sum, e, over));
    }
    ExprId reduced(ExprId x, const Dims& over) {
        switch (below(5)) {
            case 0:
                return layer_norm(x, over);
            case 1:
                return softmax(x, over);
            case 2:
                return mean(x, over);
            case 3:
                return b_.reduce(pick({ReduceOp::max, ReduceOp::min}), x, over);
            default:
                return b_.unary(UnaryOp::log,
                                b_.reduce(ReduceOp::sum, b_.unary(UnaryOp::exp, tame(x)), over));
        }
    }

    void rows() {
        const DType dtype = floating();
        const ExprId x = epilogue(param("x", dtype, {m(), n()}), 0, 3, dtype);
        ExprId y = reduced(x, {n()});
        if (chance(60)) y = epilogue(y, 1, 3, dtype);
        output(y, chance(60) ? dtype : DType::f32);
        if (chance(30)) output(mean(x, {n()}), DType::f32);
    }

    void reduction_after_product() {
        const DType dtype = floating();
        const ExprId x = epilogue(product(dtype, {}, false), 0, 4, dtype);
        output(epilogue(reduced(x, {n()}), 0, 2, dtype), dtype);
    }

    void norm_before_product() {
        const DType dtype = floating();
        const ExprId x = layer_norm(param("x", dtype, {m(), k()}), {k()});
        const ExprId w = laid_out("w", dtype, {k(), n()}, false);
        const double depth = static_cast<double>(program_.extents[ir::index(k())]);
        const ExprId acc = b_.product(b_.cast(dtype, x), w);
        output(
            epilogue(b_.binary(BinaryOp::mul, acc, b_.literal(1 / std::sqrt(depth))), 0, 3, dtype),
            dtype);
    }

    void gate() {
        const DType dtype = floating();
        const ExprId x = param("x", dtype, {m(), k()});
        const double depth = static_cast<double>(program_.extents[ir::index(k())]);
        const auto arm = [&] {
            return b_.binary(BinaryOp::mul, b_.product(x, laid_out("w", dtype, {k(), n()}, false)),
                             b_.literal(1 / std::sqrt(depth)));
        };
        const ExprId left = arm(), right = arm();
        output(b_.binary(BinaryOp::mul, b_.unary(UnaryOp::silu, left), right), dtype);
    }

    void groups() {
        const DType dtype = floating();
        const DimId g = kernel().dim("4"), d = dim("D", {3, 16, 40});
        const DimId channels = kernel().dim_product({g, d});
        const DimId rows = m();
        const ExprId x = b_.view(param("x", dtype, {rows, channels}), {rows, g, d});
        const ExprId normal = layer_norm(x, {d});
        const ExprId w = b_.view(param("w", dtype, {channels}), {g, d});
        output(b_.view(b_.binary(BinaryOp::mul, normal, w), {rows, channels}), dtype);
    }

    void attention() {
        const DType dtype = floating();
        const DimId batch = dim("B", {1, 2}), heads = dim("H", {1, 3}), rows = m();
        const DimId columns = n(), depth = dim("D", {16, 32, 64}), width = dim("E", {16, 48});
        ir::Attention node;
        node.q = param("q", dtype, {batch, heads, rows, depth});
        const bool grouped = chance(30);
        const Dims shared = grouped ? Dims{batch} : Dims{batch, heads};
        const auto with = [&](Dims dims, DimId a, DimId c) {
            dims.insert(dims.end(), {a, c});
            return dims;
        };
        node.k = param("k", dtype, with(shared, columns, depth));
        node.v = param("v", dtype, with(shared, columns, width));
        node.scale = 1 / std::sqrt(static_cast<double>(program_.extents[ir::index(depth)]));
        node.causal = chance(50);
        if (chance(40)) node.bias = param("bias", DType::f32, {rows, columns});
        output(b_.attention(node), dtype);
    }

    void two_layers() {
        const DType dtype = pick({DType::bf16, DType::f16});
        const ExprId hidden = b_.cast(dtype, epilogue(product(dtype, {}, false), 1, 3, dtype));
        kernel().exprs[ir::index(hidden)].stored = true;
        kernel().exprs[ir::index(hidden)].name = "hidden";
        const ExprId w = laid_out("w", dtype, {n(), dim("P", {16, 40, 128})}, false);
        const double depth = static_cast<double>(program_.extents[ir::index(n())]);
        output(b_.binary(BinaryOp::mul, b_.product(hidden, w), b_.literal(1 / std::sqrt(depth))),
               dtype);
    }

    void column_statistics() {
        const DType dtype = floating();
        const ExprId x = product(dtype, {}, false);
        output(epilogue(layer_norm(x, {m()}), 0, 2, dtype), dtype);
    }

    void pointwise() {
        const DType dtype = floating();
        const ExprId x = param("x", dtype, {m(), n()});
        output(epilogue(x, 1, 10, dtype), dtype);
        if (chance(40)) output(tame(x), floating());
    }

    std::mt19937 random_;
    Program program_;
    ir::Builder b_{program_.kernel};
};

}  // namespace

Program random_program(std::uint32_t seed) {
    return Generator(seed).run();
}

Program small_program(std::uint32_t seed) {
    Program program = random_program(seed);
    for (std::size_t d = 0; d < program.extents.size(); ++d) {
        const ir::Dim& dim = program.kernel.dims[d];
        if (dim.extent) continue;
        program.extents[d] = dim.factors.empty() ? program.extents[d] % 7 + 1 : ir::kUnknownExtent;
    }
    if (auto why = ir::solve_extents(program.kernel, program.extents); !why.empty())
        throw InternalError(why);
    return program;
}

}  // namespace fact::differential
