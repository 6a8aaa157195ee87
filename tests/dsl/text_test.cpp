// Kernel texts: what they mean, and how kernels print.
#include <gtest/gtest.h>

#include <cmath>

#include "dsl/dsl.h"

namespace fact::dsl {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;

Program compiled(const std::string& text) {
    Diagnostics diagnostics;
    auto program = compile(text, diagnostics);
    EXPECT_TRUE(program) << render_all(diagnostics, "text", text);
    return program.value_or(Program{});
}

// The text of the one kernel, printed from its checked form.
std::string printed(const std::string& text) {
    const Program program = compiled(text);
    return program.kernels.size() == 1 ? to_text(program.kernels[0]) : "";
}

std::string in_kernel(const std::string& body) {
    return "kernel f(x: bf16[M, K], w: bf16[N, K], c: f32[M, N], m: bool[M, N], s: f32) -> (y: "
           "f32[M, N]) {\n" +
           body + "}\n";
}

TEST(Text, OfTheDesignPrintsAsItIs) {
    const std::string text =
        "kernel mlp_up(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {\n"
        "  acc = x @ w.T\n"
        "  y   = gelu_tanh(acc + b)\n"
        "}\n";
    EXPECT_EQ(printed(text), text);
}

TEST(Text, GivesTypedExpressions) {
    const auto program = compiled(
        "kernel f(x: bf16[B, M, K], w: bf16[N, K], i: i32[N]) -> (y: bf16[B, M, N]) {\n"
        "  acc = x @ w.T  # sum over K\n"
        "  y = where(index(N) < i, acc / 2, -inf)\n"
        "}\n");
    ASSERT_EQ(program.kernels.size(), 1u);
    const ir::Kernel& kernel = program.kernels[0];
    const ir::Expr& value = kernel[kernel.outputs[0].value];
    EXPECT_EQ(value.name, "y");
    EXPECT_EQ(value.type.dtype, DType::f32);
    EXPECT_EQ(value.type.dims, kernel.outputs[0].tensor.type.dims);
    const auto& select = std::get<ir::Select>(value.node);
    EXPECT_EQ(kernel[select.condition].type.dtype, DType::boolean);
    const auto& quotient = std::get<ir::Binary>(kernel[select.a].node);
    EXPECT_EQ(kernel[quotient.a].name, "acc");
    EXPECT_EQ(kernel[quotient.a].type.dims, value.type.dims);
    EXPECT_EQ(kernel[quotient.b].type.dtype, DType::i32);
    EXPECT_EQ(std::get<ir::Literal>(kernel[select.b].node).value, -INFINITY);
}

TEST(Text, KeepsOnlyTheParenthesesThatMatter) {
    const std::pair<std::string, std::string> cases[] = {
        {"((c + c) + c)", "c + c + c"},
        {"c + (c + c)", "c + (c + c)"},
        {"c - (c - c)", "c - (c - c)"},
        {"(c * c) + (c / c)", "c * c + c / c"},
        {"c * (c + c)", "c * (c + c)"},
        {"c / (c * c)", "c / (c * c)"},
        {"-(c * c)", "-(c * c)"},
        {"(-c) * c", "-c * c"},
        {"-(-c)", "--c"},
        {"-(1.0) * c", "-(1.0) * c"},
        {"(-1.0) * c", "-1.0 * c"},
        {"- 1 * c", "-1 * c"},
        {"c - -1.5", "c - -1.5"},
        {"((c.T)).T + ((s))", "c + s"},
        {"(c + s).T.T", "c + s"},
        {"(c + s).T.permute(M, N)", "c + s"},
        {"(-c.T).T", "(-c.T).T"},
        {"where(((c < s) and m) or (not m), c, (s))", "where(c < s and m or not m, c, s)"},
        {"where((c < s) and (m or m), c, s)", "where(c < s and (m or m), c, s)"},
        {"where(not (c < s), c, s)", "where(not c < s, c, s)"},
        {"where((not m) == m, c, s)", "where((not m) == m, c, s)"},
        {"where((c < s) == m, c, s)", "where((c < s) == m, c, s)"},
        {"where(m == (c < s), c, s)", "where(m == (c < s), c, s)"},
        {"clamp(c, 0.0, 6)", "min(max(c, 0.0), 6)"},
        {"pow((c), (2.0))", "pow(c, 2.0)"},
        {"f32(f32(c))", "c"},
        {"f32(bf16(c)) * s", "f32(bf16(c)) * s"},
        {"max(c,\n  s  # a comment\n)", "max(c, s)"},
    };
    for (const auto& [body, expected] : cases)
        EXPECT_EQ(printed(in_kernel("  y = " + body + "\n")),
                  in_kernel("  y = " + expected + "\n"));
}

TEST(Text, NumbersReadBackExactly) {
    for (const double value : {0.1, 1.0, -0.0, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 1.0 / 3,
                               0.7978845608028654, 123456789.0, 1e300, -1e-5}) {
        ir::Kernel kernel{"f", {}, {}, {}, {}};
        ir::Builder builder(kernel);
        kernel.outputs.push_back({{"y", {}, {}}, builder.literal(value)});
        const auto program = compiled(to_text(kernel));
        ASSERT_EQ(program.kernels.size(), 1u);
        const auto& back = program.kernels[0];
        const auto& literal = std::get<ir::Literal>(back[back.outputs[0].value].node);
        EXPECT_EQ(literal.value, value);
        EXPECT_EQ(std::signbit(literal.value), std::signbit(value));
        EXPECT_EQ(back[back.outputs[0].value].type.dtype, DType::f32);
    }
}

TEST(Text, TypesOfLiterals) {
    EXPECT_EQ(printed(in_kernel("  y = c * 2 + 2.0 + 2e0 + inf - -2147483648\n")),
              in_kernel("  y = c * 2 + 2.0 + 2.0 + inf - -2147483648\n"));
    EXPECT_EQ(printed(in_kernel("  y = where(true, c, where(false, 1.0, c))\n")),
              in_kernel("  y = where(true, c, where(false, 1.0, c))\n"));
}

TEST(Text, ProductsGetANameAndKeepTheirPrecision) {
    EXPECT_EQ(printed("kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n"
                      "  y = relu(matmul(x, w, precision: tf32)) + matmul(x, w)\n}\n"),
              "kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n"
              "  acc  = matmul(x, w, precision: tf32)\n"
              "  acc2 = x @ w\n"
              "  y    = relu(acc) + acc2\n}\n");
}

TEST(Text, SharedValuesAndAliasesAreNamed) {
    ir::Kernel kernel{"shared", {}, {}, {}, {}};
    const auto m = kernel.dim("M"), n = kernel.dim("16");
    kernel.params.push_back({"x", {DType::f16, {m, n}}, {}});
    ir::Builder builder(kernel);
    const auto x = builder.param(0);
    EXPECT_EQ(builder.param(0), x);
    const auto e = builder.unary(UnaryOp::exp, x);
    const auto square = builder.binary(BinaryOp::mul, e, e);
    kernel.outputs.push_back({{"y", {DType::f16, {m, n}}, {}}, square});
    kernel.outputs.push_back({{"z", {DType::f32, {m, n}}, {}}, square});
    kernel.outputs.push_back({{"copy", {DType::f16, {n, m}}, {}}, builder.transpose(x)});
    kernel.outputs.push_back({{"same", {DType::f16, {m, n}}, {}}, x});
    const std::string text =
        "kernel shared(x: f16[M, 16]) -> (y: f16[M, 16], z: f32[M, 16], copy: f16[16, M], same: "
        "f16[M, 16]) {\n";
    const std::string broken =
        "kernel shared(\n    x: f16[M, 16]\n) -> (\n    y: f16[M, 16],\n    z: f32[M, 16],\n"
        "    copy: f16[16, M],\n    same: f16[M, 16]\n) {\n"
        "  t1   = exp(x)\n  y    = t1 * t1\n  copy = x.T\n  z    = y\n  same = x\n}\n";
    ASSERT_GT(text.size(), 100u);
    EXPECT_EQ(to_text(kernel), broken);
    EXPECT_EQ(printed(broken), broken);
}

TEST(Text, InvalidNamesAreReplaced) {
    ir::Kernel kernel{"my kernel", {}, {}, {}, {}};
    const auto m = kernel.dim("M");
    kernel.params.push_back({"exp", {DType::f32, {m}}, {}});
    kernel.params.push_back({"M", {DType::f32, {m}}, {}});
    ir::Builder builder(kernel);
    const auto sum = builder.binary(BinaryOp::add, builder.param(0), builder.param(1));
    kernel.exprs[ir::index(sum)].name = "1st.sum";
    kernel.outputs.push_back({{"", {DType::f32, {m}}, {}}, builder.unary(UnaryOp::neg, sum)});
    EXPECT_EQ(to_text(kernel),
              "kernel my_kernel(exp1: f32[M], M2: f32[M]) -> (y: f32[M]) {\n"
              "  _1st_sum = exp1 + M2\n"
              "  y        = -_1st_sum\n}\n");
}

TEST(Text, LongChainsAreCutIntoStatements) {
    ir::Kernel kernel{"chain", {}, {}, {}, {}};
    const auto m = kernel.dim("M");
    kernel.params.push_back({"activation", {DType::f32, {m}}, {}});
    ir::Builder builder(kernel);
    auto value = builder.param(0);
    for (int i = 0; i < 2000; ++i)
        value =
            builder.binary(BinaryOp::add, builder.unary(UnaryOp::tanh, value), builder.param(0));
    kernel.outputs.push_back({{"y", {DType::f32, {m}}, {}}, value});
    const std::string text = to_text(kernel);
    std::size_t begin = 0, lines = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        EXPECT_LE(end - begin, 100u);
        ++lines;
    }
    EXPECT_LT(lines, 1000u);
    EXPECT_EQ(printed(text), text);
}

TEST(Text, PermutedOperandsAndOutputs) {
    const std::string text =
        "kernel attend(q: bf16[B, M, H, K], k: bf16[B, N, H, K]) -> (y: bf16[B, M, H, N]) {\n"
        "  acc = q.permute(B, H, M, K) @ k.permute(B, H, K, N)\n"
        "  y   = acc.permute(B, M, H, N)\n"
        "}\n";
    EXPECT_EQ(printed(text), text);
}

TEST(Text, CoordinatesMakeMasks) {
    const std::string text = in_kernel("  y = where(index(M) + 1 > index(N), c, -inf)\n");
    EXPECT_EQ(printed(text), text);
}

TEST(Text, CompositesAreWrittenOutHygienically) {
    // The names inside a composite are not the caller's, whatever those are called.
    const std::string text =
        in_kernel("  e = exp(c)\n  shifted = e + 1.0\n  y = softmax(shifted, over: N) * e\n");
    EXPECT_EQ(printed(text), in_kernel("  e       = exp(c)\n"
                                       "  shifted = e + 1.0\n"
                                       "  t1      = exp(shifted - max(shifted, over: N))\n"
                                       "  y       = t1 / sum(t1, over: N) * e\n"));
    // A composite's name may also name a value; what is called is decided by the parenthesis.
    EXPECT_EQ(printed(in_kernel("  mean = mean(c, over: N)\n  y = c - mean\n")),
              in_kernel("  mean = sum(c, over: N) / extent(N)\n  y    = c - mean\n"));
}

TEST(Text, ErrorsOfCompositesAreAtTheCall) {
    const std::string text = in_kernel("  y = c + layer_norm(x, over: N)\n");
    Diagnostics diagnostics;
    EXPECT_FALSE(compile(text, diagnostics));
    ASSERT_EQ(diagnostics.items().size(), 1u);
    const Span span = diagnostics.items()[0].span;
    EXPECT_EQ(text.substr(span.begin, span.end - span.begin), "layer_norm(x, over: N)");
}

const std::string kLinear =
    "kernel linear(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = x @ w.T\n}\n";

TEST(Text, PipelinesWriteTheirKernelsOut) {
    const auto program = compiled(
        "pipeline mlp(x: bf16[T, A], u: bf16[B, A], v: bf16[C, B]) -> (y: bf16[C, T]) {\n"
        "  h = linear(x, u)\n  y = linear(h, w: v).T\n}\n" +
        kLinear);
    ASSERT_EQ(program.kernels.size(), 1u);
    ASSERT_EQ(program.pipelines.size(), 1u);
    EXPECT_EQ(program.find("mlp"), &program.pipelines[0]);
    EXPECT_EQ(program.find("linear"), &program.kernels[0]);
    EXPECT_EQ(program.find("up"), nullptr);
    const std::string text = to_text(program.pipelines[0]);
    EXPECT_EQ(text,
              "kernel mlp(x: bf16[T, A], u: bf16[B, A], v: bf16[C, B]) -> (y: bf16[C, T]) {\n"
              "  h_y       = x @ u.T\n"
              "  stored h  = bf16(h_y)\n"
              "  linear_y  = h @ v.T\n"
              "  stored t1 = bf16(linear_y)\n"
              "  y         = t1.T\n}\n");
    EXPECT_EQ(printed(text), text);
}

TEST(Text, OutputsOfPipelinesAreStoredWhereTheyAreReadAgain) {
    const auto program = compiled(kLinear +
                                  "pipeline two(x: bf16[M, K], u: bf16[N, K], v: bf16[P, N])"
                                  " -> (h: bf16[M, N], y: bf16[M, P]) {\n"
                                  "  h = linear(x, u)\n  y = linear(h, v)\n}\n");
    ASSERT_EQ(program.pipelines.size(), 1u);
    const ir::Kernel& kernel = program.pipelines[0];
    const ir::Expr &h = kernel[kernel.outputs[0].value], &y = kernel[kernel.outputs[1].value];
    EXPECT_TRUE(h.stored);
    EXPECT_TRUE(std::holds_alternative<ir::Cast>(h.node));
    EXPECT_FALSE(y.stored);
    EXPECT_TRUE(std::holds_alternative<ir::Product>(y.node));
}

TEST(Text, PipelinesInheritTheirKernelsSchedules) {
    const auto program =
        compiled(kLinear +
                 "schedule linear on sm90a { tile 128x128x64 }\n"
                 "pipeline mlp(x: bf16[M, K], u: bf16[N, K], v: bf16[P, N]) -> (y: bf16[M, P]) {\n"
                 "  h = linear(x, u)\n  y = linear(h, v)\n}\n"
                 "schedule mlp.y on sm90a { tile 64x64x64 }\n");
    ASSERT_EQ(program.schedules.size(), 3u);
    EXPECT_EQ(program.schedules[1].kernel, "mlp");
    EXPECT_EQ(program.schedules[1].product, "y");
    EXPECT_EQ(program.schedules[2].kernel, "mlp");
    EXPECT_EQ(program.schedules[2].product, "h_y");
    EXPECT_EQ(program.schedules[2].choices[0].tile->m, 128);
}

TEST(Text, SchedulesAttachToProducts) {
    const std::string kernel =
        "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n"
        "  acc = x @ w.T\n"
        "  y   = relu(acc)\n"
        "}\n";
    const std::string block =
        "schedule f.acc on sm90a {\n"
        "  tile {128x128x64, 128x256x64}  cluster 2x1  mainloop pingpong  stages {auto, 4}\n"
        "  scheduler {persistent(raster: n, swizzle: 2), streamk(raster: n, swizzle: 2)}\n"
        "}\n";
    const auto program = compiled(kernel + block);
    ASSERT_EQ(program.schedules.size(), 1u);
    const ScheduleBlock& found = program.schedules[0];
    EXPECT_EQ(found.kernel, "f");
    EXPECT_EQ(found.product, "acc");
    EXPECT_EQ(found.arch, "sm90a");
    ASSERT_EQ(found.choices.size(), 8u);
    const schedule::PartialSchedule expected{schedule::Tile{128, 256, 64}, schedule::Cluster{2, 1},
                                             schedule::Mainloop::pingpong, 4,
                                             schedule::Raster::n,          2,
                                             schedule::Scheduler::streamk};
    EXPECT_EQ(found.choices[7], expected);
    EXPECT_EQ(to_text(found), block);
}

TEST(Text, SchedulesMayLeaveThingsOut) {
    const auto program = compiled(
        "schedule f on sm90a {\n}\n"
        "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  y = relu(x @ w.T)\n}\n"
        "schedule f on sm90a { stages 3 scheduler persistent(swizzle: {1, 2}) }\n");
    ASSERT_EQ(program.schedules.size(), 2u);
    EXPECT_EQ(program.schedules[0].choices, std::vector<schedule::PartialSchedule>{{}});
    EXPECT_EQ(to_text(program.schedules[0]), "schedule f on sm90a {\n}\n");
    ASSERT_EQ(program.schedules[1].choices.size(), 2u);
    EXPECT_EQ(program.schedules[1].choices[1].stages, 3);
    EXPECT_EQ(program.schedules[1].choices[1].swizzle, 2);
    EXPECT_FALSE(program.schedules[1].choices[1].tile);
    EXPECT_FALSE(program.schedules[1].choices[1].raster);
    EXPECT_EQ(to_text(program.schedules[1]),
              "schedule f on sm90a {\n  stages 3\n  scheduler persistent(swizzle: {1, 2})\n}\n");
}

TEST(Text, CorrelatedChoicesPrintAsSeveralBlocks) {
    schedule::PartialSchedule a, b;
    a.tile = schedule::Tile{128, 128, 64};
    b.tile = schedule::Tile{64, 64, 64};
    b.stages = 3;
    const std::string text = to_text(ScheduleBlock{"f", "acc", "sm90a", {a, b}, {}});
    EXPECT_EQ(text,
              "schedule f.acc on sm90a {\n  tile 128x128x64\n}\n"
              "schedule f.acc on sm90a {\n  tile 64x64x64  stages 3\n}\n");
}

}  // namespace
}  // namespace fact::dsl
