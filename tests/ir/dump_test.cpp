#include "ir/dump.h"

#include <gtest/gtest.h>

namespace fact::ir {
namespace {

TEST(Dump, ListsEveryKindOfNode) {
    Kernel kernel{"all", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), n = kernel.dim("N"), d = kernel.dim("8"), e = kernel.dim("E");
    const DimId product = kernel.factored_dim({n, d});
    kernel.params = {{"q", {DType::bf16, {m, d}}, {}},
                     {"k", {DType::bf16, {n, d}}, {}},
                     {"v", {DType::bf16, {n, e}}, {}}};
    Builder b(kernel);
    const ExprId q = b.param(0), k = b.param(1), v = b.param(2);
    const ExprId scores = b.product(q, b.transpose(k));
    kernel.exprs[index(scores)].stored = true;
    kernel.exprs[index(scores)].name = "scores";
    const ExprId top = b.reduce(ReduceOp::max, scores, {n});
    const ExprId column = b.index(n), count = b.extent(product);
    const ExprId mask = b.binary(BinaryOp::lt, column, count);
    const ExprId half = b.literal(0.5), one = b.unary(UnaryOp::neg, b.literal(1));
    const ExprId bias = b.expand(b.select(mask, half, one), {n, m});
    Attention attention;
    attention.q = q, attention.k = k, attention.v = v, attention.bias = bias;
    attention.causal = true, attention.scale = 0.25, attention.cap = 50, attention.window = 64;
    const ExprId result = b.attention(attention);
    const ExprId flat = b.view(b.cast(DType::i32, k), {product});
    kernel.outputs = {{{"y", {DType::f16, {m, e}}, {}}, result},
                      {{"t", {DType::f32, {m}}, {}}, top},
                      {{"f", {DType::i32, {product}}, {}}, flat}};
    EXPECT_EQ(verify(kernel), "");
    EXPECT_EQ(dump(kernel),
              "kernel all\n"
              "  in q: bf16[M, 8]\n"
              "  in k: bf16[N, 8]\n"
              "  in v: bf16[N, E]\n"
              "  %0 q = param q : bf16[M, 8]\n"
              "  %1 k = param k : bf16[N, 8]\n"
              "  %2 v = param v : bf16[N, E]\n"
              "  %3 = permute %1 : bf16[8, N]\n"
              "  %4 scores = product %0 %3 : f32[M, N] stored\n"
              "  %5 = max over [N] %4 : f32[M]\n"
              "  %6 = index N : i32[N]\n"
              "  %7 = extent N*8 : i32\n"
              "  %8 = < %6 %7 : bool[N]\n"
              "  %9 = literal 0.5 : f32\n"
              "  %10 = literal 1 : f32\n"
              "  %11 = neg %10 : f32\n"
              "  %12 = where %8 %9 %11 : f32[N]\n"
              "  %13 = expand %12 : f32[N, M]\n"
              "  %14 = attention causal window 64 scale 0.25 cap 50 %0 %1 %2 %13 : f32[M, E]\n"
              "  %15 = cast %1 : i32[N, 8]\n"
              "  %16 = view %15 : i32[N*8]\n"
              "  out y: f16[M, E] = %14\n"
              "  out t: f32[M] = %5\n"
              "  out f: i32[N*8] = %16\n");
}

}  // namespace
}  // namespace fact::ir
