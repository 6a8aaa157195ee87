// What texts compute, by the reference interpreter against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dsl/dsl.h"
#include "ir/expand.h"
#include "ir/interpreter.h"

namespace fact::dsl {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

struct Array {
    std::vector<std::int64_t> sizes;
    std::vector<double> values;
};

ir::TensorView view_of(Array& array) {
    ir::TensorView view;
    view.data = array.values.data();
    view.dtype = DType::f64;
    view.sizes = array.sizes;
    view.strides.resize(array.sizes.size());
    std::int64_t stride = 1;
    for (std::size_t i = array.sizes.size(); i-- > 0; stride *= array.sizes[i])
        view.strides[i] = stride;
    return view;
}

// The one output of the text's last kernel or pipeline, computed in f64.
std::vector<double> computed(const std::string& text, std::vector<Array> inputs,
                             std::vector<std::int64_t> sizes, bool written_out = false) {
    Diagnostics diagnostics;
    const auto program = compile(text, diagnostics);
    EXPECT_TRUE(program) << render_all(diagnostics, "text", text);
    if (!program) return {};
    ir::Kernel kernel =
        program->pipelines.empty() ? program->kernels.back() : program->pipelines.back();
    if (written_out) kernel = ir::expand_attention(kernel);
    std::vector<ir::TensorView> params;
    for (Array& input : inputs) params.push_back(view_of(input));
    Array out{std::move(sizes), {}};
    std::int64_t count = 1;
    for (const auto size : out.sizes) count *= size;
    out.values.assign(static_cast<std::size_t>(count), 12345);
    const std::vector<ir::TensorView> outputs{view_of(out)};
    const auto done = ir::interpret(kernel, params, outputs, {});
    EXPECT_TRUE(done) << (done ? "" : done.error().text());
    return out.values;
}

// `function` of a vector x[N] of its own.
std::vector<double> mapped(const std::string& function, std::vector<double> x) {
    const auto size = static_cast<std::int64_t>(x.size());
    return computed("kernel f(x: f32[N]) -> (y: f32[N]) {\n  y = " + function + "\n}\n",
                    {{{size}, std::move(x)}}, {size});
}

// `function` of the rows of x[M, N].
std::vector<double> reduced(const std::string& function, std::int64_t columns,
                            std::vector<double> x, std::int64_t rows) {
    return computed("kernel f(x: f32[M, N]) -> (y: f32[M]) {\n  y = " + function + "\n}\n",
                    {{{rows, columns}, std::move(x)}}, {rows});
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(expected[i]))
            EXPECT_TRUE(std::isnan(found[i])) << i;
        else if (std::isinf(expected[i]))
            EXPECT_EQ(found[i], expected[i]) << i;
        else
            EXPECT_NEAR(found[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << i;
    }
}

TEST(Meaning, OfPointwiseComposites) {
    expect_near(mapped("leaky_relu(x)", {2, -2, 0, kNaN, -kInf}), {2, -0.02, 0, kNaN, -kInf});
    expect_near(mapped("leaky_relu(x, 0.5)", {-2}), {-1});
    expect_near(mapped("elu(x, alpha: 2.0)", {1, -1, -1e-9, -kInf}),
                {1, 2 * (std::exp(-1.0) - 1), 2 * std::expm1(-1e-9), -2});
    expect_near(mapped("clamp(x, -1.5, high: 2.0)", {-3, 0, 3, kNaN}), {-1.5, 0, 2, kNaN});
    expect_near(mapped("hardtanh(x)", {-3, 0.5, 3}), {-1, 0.5, 1});
    expect_near(mapped("hardsigmoid(x)", {-4, 0, 1.5, 4}), {0, 0.5, 0.75, 1});
    expect_near(mapped("hardswish(x)", {-4, 1.5, 4}), {0, 1.125, 4});
    expect_near(mapped("batch_norm(x, mean: 1.0, var: 4.0, eps: 0.0)", {1, 3, -1}), {0, 1, -1});
}

TEST(Meaning, OfRunningSums) {
    const auto running = [](const std::string& expression) {
        return computed("kernel f(x: f32[A, 3]) -> (y: f32[A, 3]) {\n  y = " + expression + "\n}\n",
                        {{{2, 3}, {1, 2, 3, -4, 5, -6}}}, {2, 3});
    };
    expect_near(running("cumsum(x, over: 3)"), {1, 3, 6, -4, 1, -5});
    expect_near(running("cumsum(x, over: 3, from: start)"), {1, 3, 6, -4, 1, -5});
    expect_near(running("cumsum(x, over: 3, from: end)"), {6, 5, 3, -5, -1, -6});
    expect_near(running("cumprod(x, over: A)"), {1, 2, 3, -4, 10, -18});
    // The last dimension named runs fastest, whatever their order in memory.
    expect_near(running("cumsum(x, over: [A, 3])"), {1, 3, 6, 2, 7, 1});
    expect_near(running("cumsum(x, over: [3, A])"), {1, -1, 7, -3, 4, 1});
}

TEST(Meaning, OfReductions) {
    const std::vector<double> x = {1, 2, 3, -4, 5, -6};
    expect_near(reduced("sum(x, over: N)", 3, x, 2), {6, -5});
    expect_near(reduced("max(x, over: N)", 3, x, 2), {3, 5});
    expect_near(reduced("min(x, over: N)", 3, x, 2), {1, -6});
    expect_near(reduced("mean(x, over: N)", 3, x, 2), {2, -5.0 / 3});
    expect_near(reduced("sum_of_squares(x, over: N)", 3, x, 2), {14, 77});
    expect_near(reduced("max(x, over: N)", 2, {1, kNaN, -kInf, -kInf}, 2), {kNaN, -kInf});
    const double all = 1;
    expect_near(computed("kernel f(x: f32[A, B, C]) -> (y: f32[B]) {\n"
                         "  y = sum(x, over: [C, A]) + mean(x, over: [A, B, C])\n}\n",
                         {{{2, 2, 2}, {1, 2, 3, 4, -5, 6, 7, -10}}}, {2}),
                {4 + all, 4 + all});
}

TEST(Meaning, OfNothing) {
    expect_near(reduced("sum(x, over: N)", 0, {}, 2), {0, 0});
    expect_near(reduced("max(x, over: N)", 0, {}, 1), {-kInf});
    expect_near(reduced("min(x, over: N)", 0, {}, 1), {kInf});
    expect_near(reduced("mean(x, over: N)", 0, {}, 1), {kNaN});
    expect_near(reduced("logsumexp(x, over: N)", 0, {}, 1), {-kInf});
    EXPECT_TRUE(reduced("sum(x, over: N)", 3, {}, 0).empty());
    expect_near(computed("kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n"
                         "  y = x @ w + 1.0\n}\n",
                         {{{2, 0}, {}}, {{0, 1}, {}}}, {2, 1}),
                {1, 1});
}

TEST(Meaning, OfSoftmaxAndItsLogarithm) {
    const double e = std::exp(1.0), sum = 1 + e;
    const std::vector<double> x = {1000, 1001, -kInf, 0, -kInf, -kInf};
    const std::vector<double> soft = {1 / sum, e / sum, 0, 1, kNaN, kNaN};
    const auto rows = [&](const std::string& function) {
        return computed("kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n  y = " + function + "\n}\n",
                        {{{3, 2}, x}}, {3, 2});
    };
    expect_near(rows("softmax(x, over: N)"), soft);
    expect_near(rows("log_softmax(x, over: N)"),
                {-std::log(sum), 1 - std::log(sum), -kInf, 0, kNaN, kNaN});
    expect_near(
        reduced("logsumexp(x, over: N)", 2, {1000, 1001, -kInf, 0, -kInf, -kInf, 1, kInf}, 4),
        {1000 + std::log(sum), 0, -kInf, kInf});
}

TEST(Meaning, OfNormalizations) {
    const std::vector<double> x = {1, 2, 3, 4};
    const double deviation = std::sqrt(1.25 + 1e-5), rms = std::sqrt(7.5 + 0.5);
    expect_near(mapped("layer_norm(x, over: N)", x),
                {-1.5 / deviation, -0.5 / deviation, 0.5 / deviation, 1.5 / deviation});
    expect_near(mapped("rms_norm(x, over: N, eps: 0.5)", x), {1 / rms, 2 / rms, 3 / rms, 4 / rms});
    const double half = 0.5 / std::sqrt(0.25);
    const std::string grouped =
        "kernel f(x: f32[2*D], s: f32[D]) -> (y: f32[2*D]) {\n"
        "  y = group_norm(x.view(2, D), over: D, eps: 0.0).view(2*D)\n}\n";
    expect_near(computed(grouped, {{{4}, {1, 2, 30, 31}}, {{2}, {0, 0}}}, {4}),
                {-half, half, -half, half});
    expect_near(computed("kernel f(x: f32[C, H, W]) -> (y: f32[C, H, W]) {\n"
                         "  y = instance_norm(x, over: [H, W], eps: 0.0)\n}\n",
                         {{{2, 1, 2}, {1, 2, 30, 32}}}, {2, 1, 2}),
                {-1, 1, -1, 1});
}

TEST(Meaning, OfViewsAndProductsOfDimensions) {
    // [H=2, M=3, D=1] -> [M, H*D]
    expect_near(computed("kernel f(x: f32[H, M, D]) -> (y: f32[M, H*D]) {\n"
                         "  y = x.permute(M, H, D).view(M, H*D) + index(H*D) * extent(H*D)\n}\n",
                         {{{2, 3, 1}, {1, 2, 3, 4, 5, 6}}}, {3, 2}),
                {1, 6, 2, 7, 3, 8});
    // D follows from 2*D; a pool over pairs along the row.
    expect_near(computed("kernel f(x: f32[M, D*2]) -> (y: f32[M, D]) {\n"
                         "  y = max(x.view(M, D, 2), over: 2) * extent(D)\n}\n",
                         {{{1, 6}, {1, 5, 2, 2, -3, -4}}}, {1, 3}),
                {15, 6, -9});
}

TEST(Meaning, OfViewsWithADimensionOfOne) {
    expect_near(computed("kernel f(x: f32[M, N]) -> (y: f32[M, 1, N]) {\n"
                         "  y = x.view(M, 1, N) * sum(x, over: N).view(M, 1)\n}\n",
                         {{{2, 2}, {1, 2, 3, 4}}}, {2, 1, 2}),
                {3, 6, 21, 28});
}

TEST(Meaning, OfProductsOfOtherNames) {
    // Rows and columns of one picture: every point with every point.
    expect_near(computed("kernel f(x: f32[H, W, C]) -> (y: f32[H*W]) {\n"
                         "  t = x.view(H*W, C)\n  s = x.as(P, Q, C).view(P*Q, C)\n"
                         "  y = max(t @ s.T, over: P*Q)\n}\n",
                         {{{1, 2, 2}, {1, 0, 2, 3}}}, {2}),
                {2, 13});
}

TEST(Meaning, OfARenamedProductThatComesFirst) {
    expect_near(computed("kernel f(a: f32[F*2, K], b: f32[E*2, K]) -> (y: f32[F*2, E*2]) "
                         "where F = E {\n  y = a @ b.T\n}\n",
                         {{{2, 1}, {1, 2}}, {{2, 1}, {3, 4}}}, {2, 2}),
                {3, 4, 6, 8});
}

TEST(Meaning, OfExpandedValues) {
    expect_near(computed("kernel f(x: f32[H, N], m: f32[B, N]) -> (y: f32[B, H, N]) {\n"
                         "  y = where(m > 0.0, x.expand(B, H, N), -1.0)\n}\n",
                         {{{1, 2}, {3, 4}}, {{2, 2}, {1, 0, 0, 1}}}, {2, 1, 2}),
                {3, -1, -1, 4});
    // What is repeated is summed as often.
    expect_near(computed("kernel f(x: f32[M], n: f32[N]) -> (y: f32[M]) {\n"
                         "  y = sum(x.expand(N, M), over: N) + 0.0 * sum(n, over: N)\n}\n",
                         {{{2}, {1, 2}}, {{3}, {0, 0, 0}}}, {2}),
                {3, 6});
    expect_near(computed("kernel f(x: f32[M, K], w: f32[K], n: f32[N]) -> (y: f32[M, N]) {\n"
                         "  y = x @ w.expand(K, N) + n\n}\n",
                         {{{1, 2}, {1, 2}}, {{2}, {10, 1}}, {{2}, {0, 5}}}, {1, 2}),
                {12, 17});
}

TEST(Meaning, OfScalars) {
    expect_near(computed("kernel f(x: f32[M], alpha: f32) -> (y: f32) {\n"
                         "  y = alpha * sum(x, over: M)\n}\n",
                         {{{3}, {1, 2, 3}}, {{}, {0.5}}}, {}),
                {3});
}

const char kAttention[] =
    "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (y: f32[M, E]) {\n  y = ";

TEST(Meaning, OfAttention) {
    // Two rows, three columns; scores are 0 and log 3 by construction.
    const double score = std::log(3.0);
    const Array q{{2, 1}, {0, 1}}, k{{3, 1}, {2 * score, 0, 2 * score}}, v{{3, 1}, {1, 10, 100}};
    expect_near(computed(std::string(kAttention) + "attention(q, k, v, scale: 0.5)\n}\n", {q, k, v},
                         {2, 1}),
                {37, (3 + 10 + 300) / 7.0});
    // Row i sees columns 0 to i, however many columns there are.
    expect_near(
        computed(std::string(kAttention) + "attention(q, k, v, mask: causal, scale: 0.5)\n}\n",
                 {q, k, v}, {2, 1}),
        {1, (3 + 10) / 4.0});
    // A bias of -inf hides a column; a row that sees nothing is NaN, as in torch.
    expect_near(computed(std::string(kAttention) +
                             "attention(q, k, v, bias: where(index(N) < 2 * index(M), 0.0, -inf), "
                             "scale: 0.5)\n}\n",
                         {q, k, v}, {2, 1}),
                {kNaN, (3 + 10) / 4.0});
    // Or 0, where that is said; written out it means the same.
    const std::string hidden = std::string(kAttention) +
                               "attention(q, k, v, bias: where(index(N) < 2 * index(M), 0.0, "
                               "-inf), unseen: zero, scale: 0.5)\n}\n";
    expect_near(computed(hidden, {q, k, v}, {2, 1}), {0, (3 + 10) / 4.0});
    expect_near(computed(hidden, {q, k, v}, {2, 1}, true), {0, (3 + 10) / 4.0});
    expect_near(
        computed(
            "kernel f(q: f32[M, 4], k: f32[N, 4], v: f32[N, E]) -> (y: f32[M, E]) {\n"
            "  y = attention(q, k, v)\n}\n",
            {{{1, 4}, {1, 1, 1, 1}}, {{2, 4}, {0, 0, 0, 0, 2 * score, 0, 0, 0}}, {{2, 1}, {4, 8}}},
            {1, 1}),
        {(4 + 3 * 8) / 4.0});
}

// A window sees neither what is before the first place nor what is after the last.
TEST(Meaning, OfACut) {
    const auto cut = [](const std::string& pad) {
        return computed(
            "kernel f(x: f32[H]) -> (y: f32[P]) where E = 1 {\n  y = max(x.window(H: P "
            "by E pad " +
                pad + "), over: E)\n}\n",
            {{{5}, {1, 2, 3, 4, 5}}}, {3});
    };
    expect_near(cut("-1"), {2, 3, 4});
    expect_near(cut("0 -2"), {1, 2, 3});
    expect_near(cut("-3 1"), {4, 5, 0});
}

// The order of what `where` says has no meaning.
TEST(Meaning, OfAConstantFactor) {
    for (const std::string order : {"R = 2, P = H*R", "P = H*R, R = 2"})
        expect_near(computed("kernel f(x: f32[P]) -> (y: f32[H]) where " + order +
                                 " {\n  y = sum(x.view(H, R), over: R)\n}\n",
                             {{{4}, {1, 2, 3, 4}}}, {2}),
                    {3, 7});
}

TEST(Meaning, OfAWindow) {
    // Scores are all 0: a row is the mean of what it sees.
    const Array q{{5, 1}, {0, 0, 0, 0, 0}}, k{{3, 1}, {1, 2, 3}}, v{{3, 1}, {1, 10, 100}};
    const auto windowed = [&](const std::string& how, bool written_out) {
        return computed(
            std::string(kAttention) + "attention(q, k, v, scale: 1.0, " + how + ")\n}\n", {q, k, v},
            {5, 1}, written_out);
    };
    for (const bool written_out : {false, true}) {
        expect_near(windowed("mask: causal, window: 2", written_out), {1, 5.5, 55, 100, kNaN});
        expect_near(windowed("mask: causal, window: 2, unseen: zero", written_out),
                    {1, 5.5, 55, 100, 0});
        expect_near(windowed("window: 2", written_out), {5.5, 37, 55, 100, kNaN});
        expect_near(windowed("window: 1", written_out), {1, 10, 100, kNaN, kNaN});
        expect_near(windowed("mask: causal, window: 9", written_out), {1, 5.5, 37, 37, 37});
    }
}

TEST(Meaning, OfACap) {
    // Scores of 2 and -2 under a cap of 1, and a bias that is not capped.
    const Array q{{1, 1}, {4}}, k{{2, 1}, {1, -1}}, v{{2, 1}, {1, 0}};
    const std::string text = std::string(kAttention) +
                             "attention(q, k, v, bias: 3.0 * index(N), scale: 0.5, cap: 1.0)\n}\n";
    const double a = std::exp(std::tanh(2.0)), b = std::exp(std::tanh(-2.0) + 3);
    expect_near(computed(text, {q, k, v}, {1, 1}), {a / (a + b)});
    expect_near(computed(text, {q, k, v}, {1, 1}, true), {a / (a + b)});
}

TEST(Meaning, OfTheLogarithmOfAttentionsSums) {
    // Scores of all rows are 0, log 3 and log 5.
    const Array q{{3, 1}, {1, 1, 1}}, v{{3, 1}, {1, 10, 100}};
    const Array k{{3, 1}, {0, 2 * std::log(3.0), 2 * std::log(5.0)}};
    const auto sums = [&](const std::string& how, bool written_out) {
        return computed(
            "kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (l: f32[M]) {\n"
            "  o = attention(q, k, v, scale: 0.5" +
                how + ")\n  l = scores_logsumexp(o) + 0.0 * sum(o, over: E)\n}\n",
            {q, k, v}, {3}, written_out);
    };
    const double one = 0, two = std::log(4.0), all = std::log(9.0);
    for (const bool written_out : {false, true}) {
        expect_near(sums("", written_out), {all, all, all});
        expect_near(sums(", mask: causal", written_out), {one, two, all});
        expect_near(sums(", mask: causal, window: 1", written_out),
                    {one, std::log(3.0), std::log(5.0)});
        expect_near(sums(", bias: where(index(N) == 2, 0.6931471805599453, 0.0)", written_out),
                    {std::log(14.0), std::log(14.0), std::log(14.0)});
        const double capped =
            std::log(1 + std::exp(std::tanh(std::log(3.0))) + std::exp(std::tanh(std::log(5.0))));
        expect_near(sums(", cap: 1.0", written_out), {capped, capped, capped});
    }
    // Of a row that sees nothing it is -inf, whatever the row itself is.
    for (const std::string how : {"", ", unseen: zero"})
        for (const bool written_out : {false, true})
            expect_near(
                computed("kernel f(q: f32[M, D], k: f32[N, D], v: f32[N, E]) -> (l: f32[M]) {\n"
                         "  l = scores_logsumexp(attention(q, k, v, scale: 0.5, bias: "
                         "where(index(N) < index(M), 0.0, -inf)" +
                             how + "))\n}\n",
                         {q, k, v}, {3}, written_out),
                {-std::numeric_limits<double>::infinity(), one, two});
}

TEST(Meaning, OfGroupedHeads) {
    const Array q{{1, 2, 1, 1}, {0, 1}}, k{{1, 2, 1}, {0, std::log(3.0)}}, v{{1, 2, 1}, {4, 8}};
    expect_near(computed("kernel f(q: f32[G, R, M, D], k: f32[G, N, D], v: f32[G, N, E])"
                         " -> (y: f32[G, R, M, E]) {\n  y = attention(q, k, v, scale: 1)\n}\n",
                         {q, k, v}, {1, 2, 1, 1}),
                {6, 7});
}

TEST(Meaning, OfPipelinesRoundsWhatIsStored) {
    // 1 + 2^-9 is no bf16: the kernel's output rounds to 1, the exact sum does not.
    const std::string kernel = "kernel add(x: f32[M], b: f32) -> (y: bf16[M]) {\n  y = x + b\n}\n";
    const std::vector<Array> inputs = {{{2}, {1, 3}}, {{}, {0x1p-9}}};
    expect_near(computed(kernel + "pipeline p(x: f32[N], b: f32) -> (y: f32[N]) {\n"
                                  "  h = add(x, b)\n  y = f32(h) - x\n}\n",
                         inputs, {2}),
                {0, 0});
    expect_near(computed("kernel p(x: f32[N], b: f32) -> (y: f32[N]) {\n"
                         "  h = x + b\n  y = h - x\n}\n",
                         inputs, {2}),
                {0x1p-9, 0x1p-9});
    expect_near(computed("kernel p(x: f32[N], b: f32) -> (y: f32[N]) {\n"
                         "  stored h = bf16(x + b)\n  y = h - x\n}\n",
                         inputs, {2}),
                {0, 0});
}

}  // namespace
}  // namespace fact::dsl
