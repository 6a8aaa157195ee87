#include "ir/kernel.h"

#include <gtest/gtest.h>

#include "ir/typing.h"
#include "support/result.h"

namespace fact::ir {
namespace {

// x[B, M, K] bf16, w[N, K] bf16, c[M, N] f32, i[N] i64, m[M, N] bool
struct Fixture {
    Kernel kernel{"f", {}, {}, {}, {}};
    Builder builder{kernel};
    DimId b = kernel.dim("B"), m = kernel.dim("M"), n = kernel.dim("N"), k = kernel.dim("K");
    ExprId x = param("x", DType::bf16, {b, m, k}), w = param("w", DType::bf16, {n, k}),
           c = param("c", DType::f32, {m, n}), i = param("i", DType::i64, {n}),
           mask = param("m", DType::boolean, {m, n});

    ExprId param(std::string name, DType dtype, std::vector<DimId> dims) {
        kernel.params.push_back({std::move(name), {dtype, std::move(dims)}, {}});
        return builder.param(static_cast<std::uint32_t>(kernel.params.size() - 1));
    }
    const Type& type(ExprId id) const { return kernel[id].type; }
};

TEST(Dims, AreFoundByNameOrAdded) {
    Kernel kernel;
    const DimId m = kernel.dim("M"), eight = kernel.dim("8");
    EXPECT_EQ(kernel.dim("M"), m);
    EXPECT_EQ(kernel.dim("8"), eight);
    EXPECT_FALSE(kernel[m].extent);
    EXPECT_EQ(kernel[eight].extent, 8);
}

TEST(Builder, WorksOutTypes) {
    Fixture f;
    Builder& b = f.builder;
    const ExprId product = b.product(f.x, b.transpose(f.w));
    EXPECT_EQ(f.type(product), (Type{DType::f32, {f.b, f.m, f.n}}));
    EXPECT_EQ(f.type(b.binary(BinaryOp::add, f.c, product)), f.type(product));
    EXPECT_EQ(f.type(b.binary(BinaryOp::mul, f.w, f.w)), (Type{DType::f32, {f.n, f.k}}));
    EXPECT_EQ(f.type(b.binary(BinaryOp::lt, f.i, f.c)), (Type{DType::boolean, {f.m, f.n}}));
    EXPECT_EQ(f.type(b.binary(BinaryOp::add, f.i, b.index(f.n))), (Type{DType::i64, {f.n}}));
    EXPECT_EQ(f.type(b.binary(BinaryOp::div, f.i, f.i)).dtype, DType::f32);
    EXPECT_EQ(f.type(b.binary(BinaryOp::add, f.mask, f.mask)).dtype, DType::i32);
    EXPECT_EQ(f.type(b.binary(BinaryOp::le, b.index(f.m), b.index(f.n))),
              (Type{DType::boolean, {f.m, f.n}}));
    EXPECT_EQ(f.type(b.unary(UnaryOp::exp, f.i)).dtype, DType::f32);
    EXPECT_EQ(f.type(b.unary(UnaryOp::abs, f.i)).dtype, DType::i64);
    EXPECT_EQ(f.type(b.unary(UnaryOp::relu, f.x)).dtype, DType::f32);
    EXPECT_EQ(f.type(b.select(f.mask, b.literal(0), f.i)), (Type{DType::f32, {f.m, f.n}}));
    EXPECT_EQ(f.type(b.select(f.mask, f.mask, f.mask)).dtype, DType::boolean);
    EXPECT_EQ(f.type(b.cast(DType::bf16, product)), (Type{DType::bf16, {f.b, f.m, f.n}}));
    EXPECT_EQ(f.type(b.permute(f.x, {f.k, f.b, f.m})), (Type{DType::bf16, {f.k, f.b, f.m}}));
    EXPECT_EQ(verify([&] {
                  f.kernel.outputs.push_back({{"y", f.type(product), {}}, product});
                  return f.kernel;
              }()),
              "");
}

TEST(Builder, GivesBackWhatWouldNotChange) {
    Fixture f;
    EXPECT_EQ(f.builder.cast(DType::bf16, f.x), f.x);
    EXPECT_EQ(f.builder.permute(f.x, {f.b, f.m, f.k}), f.x);
    EXPECT_EQ(f.builder.transpose(f.builder.transpose(f.x)), f.x);
    EXPECT_EQ(f.builder.param(0), f.x);
}

TEST(Builder, OrdersBatchDimensionsByTheOperandWithMore) {
    Fixture f;
    const DimId h = f.kernel.dim("H");
    const ExprId q = f.param("q", DType::bf16, {f.b, h, f.m, f.k});
    const ExprId v = f.param("v", DType::bf16, {h, f.k, f.n});
    const ExprId z = f.param("z", DType::bf16, {h, f.b, f.k, f.n});
    EXPECT_EQ(f.type(f.builder.product(q, v)).dims, (std::vector{f.b, h, f.m, f.n}));
    EXPECT_EQ(f.type(f.builder.product(f.x, z)).dims, (std::vector{h, f.b, f.m, f.n}));
    EXPECT_EQ(f.type(f.builder.product(q, z)).dims, (std::vector{f.b, h, f.m, f.n}));
}

TEST(Builder, RefusesWhatDoesNotFit) {
    Fixture f;
    Builder& b = f.builder;
    EXPECT_THROW(b.product(f.x, f.w), InternalError);
    EXPECT_THROW(b.product(f.x, f.i), InternalError);
    EXPECT_THROW(b.product(b.unary(UnaryOp::exp, f.x), b.transpose(f.w)), InternalError);
    EXPECT_THROW(b.product(f.x, b.transpose(f.w), Precision::tf32), InternalError);
    EXPECT_THROW(b.binary(BinaryOp::add, f.w, f.c), InternalError);
    EXPECT_THROW(b.binary(BinaryOp::logical_and, f.mask, f.c), InternalError);
    EXPECT_THROW(b.select(f.c, f.c, f.c), InternalError);
    EXPECT_THROW(b.permute(f.x, {f.b, f.m}), InternalError);
    EXPECT_THROW(b.transpose(f.i), InternalError);
    EXPECT_THROW(b.cast(DType::f64, f.c), InternalError);
    EXPECT_THROW(b.literal(0.5, DType::i32), InternalError);
    EXPECT_THROW(b.literal(1, DType::bf16), InternalError);
    EXPECT_THROW(b.param(99), InternalError);
}

TEST(Verify, SaysWhatIsIllFormed) {
    const auto broken = [](auto damage) {
        Fixture f;
        const ExprId sum = f.builder.binary(BinaryOp::add, f.c, f.c);
        f.kernel.outputs.push_back({{"y", {DType::bf16, {f.m, f.n}}, {}}, sum});
        EXPECT_EQ(verify(f.kernel), "");
        damage(f, sum);
        return verify(f.kernel);
    };
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.kernel.outputs.clear(); }),
              "the kernel has no output");
    EXPECT_EQ(broken([](Fixture& f, ExprId sum) {
                  f.kernel.exprs[index(sum)].node = Binary{BinaryOp::add, f.c, sum};
              }),
              "expression 5 precedes one of its operands");
    EXPECT_EQ(broken([](Fixture& f, ExprId sum) { f.kernel.exprs[index(sum)].type.dims = {f.m}; }),
              "expression 5 has another type than its operands give");
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.kernel.outputs[0].tensor.type.dims = {f.n, f.m}; }),
              "output 'y' has dimensions [N, M] but its value has [M, N]");
    EXPECT_EQ(
        broken([](Fixture& f, ExprId) { f.kernel.outputs[0].tensor.type.dtype = DType::i32; }),
        "output 'y' is i32 but its value is f32");
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.kernel.outputs[0].tensor.name = "x"; }),
              "two tensors are called 'x'");
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.kernel.params[0].type.dims = {f.m, f.m}; }),
              "tensor 'x' repeats dimension 'M'");
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.builder.index(f.kernel.dim("Q")); }),
              "no parameter determines the extent of dimension 'Q'");
    EXPECT_EQ(broken([](Fixture& f, ExprId) { f.kernel.outputs[0].value = ExprId{99}; }),
              "output 'y' has no value");
}

TEST(Typing, AViewHasADimensionOnce) {
    Kernel kernel;
    Builder b(kernel);
    const DimId n = kernel.dim("N");
    kernel.params.push_back({"x", {DType::f32, {kernel.factored_dim({n, n})}}, {}});
    const auto typing = type_of(kernel, View{b.param(0)}, {DType::f32, {n, n}});
    ASSERT_TRUE(std::holds_alternative<TypeError>(typing));
    EXPECT_EQ(std::get<TypeError>(typing).fault, Fault::repeated_dim);
}

TEST(Functions, AreFoundByNameOperatorsExcluded) {
    EXPECT_EQ(find_unary_function("gelu_tanh"), UnaryOp::gelu_tanh);
    EXPECT_EQ(find_binary_function("max"), BinaryOp::max);
    EXPECT_FALSE(find_unary_function("-"));
    EXPECT_FALSE(find_unary_function("not"));
    EXPECT_FALSE(find_binary_function("and"));
    EXPECT_FALSE(find_binary_function("+"));
    EXPECT_FALSE(find_unary_function(""));
    for (std::size_t i = 0; i < kUnary.size(); ++i)
        EXPECT_EQ(static_cast<std::size_t>(kUnary[i].op), i);
    for (std::size_t i = 0; i < kBinary.size(); ++i)
        EXPECT_EQ(static_cast<std::size_t>(kBinary[i].op), i);
}

}  // namespace
}  // namespace fact::ir
