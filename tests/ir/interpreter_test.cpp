#include "ir/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/matmul.h"
#include "ir/number.h"
#include "ir/pointwise.h"

namespace fact::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A contiguous tensor that owns its memory.
struct Memory {
    std::vector<std::uint64_t> bytes;
    TensorView view;

    Memory(DType dtype, std::vector<std::int64_t> sizes, const std::vector<double>& values = {}) {
        std::int64_t count = 1;
        view.dtype = dtype;
        view.sizes = sizes;
        view.strides.resize(sizes.size());
        for (std::size_t i = sizes.size(); i-- > 0;) {
            view.strides[i] = count;
            count *= sizes[i];
        }
        bytes.resize(count + 1);
        view.data = bytes.data();
        if (!values.empty()) store(view.data, dtype, 0, 1, count, values.data());
    }
    std::vector<double> values() const {
        std::int64_t count = 1;
        for (const auto size : view.sizes) count *= size;
        std::vector<double> out(count);
        load(view.data, view.dtype, 0, 1, count, out.data());
        return out;
    }
};

std::vector<double> numbers(std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<double> out(count);
    for (double& v : out) v = static_cast<int>(random() % 17) - 8;
    return out;
}

void run(const Kernel& kernel, std::vector<Memory*> params, std::vector<Memory*> outputs,
         const InterpretOptions& options = {}) {
    std::vector<TensorView> in, out;
    for (const Memory* m : params) in.push_back(m->view);
    for (const Memory* m : outputs) out.push_back(m->view);
    const auto done = interpret(kernel, in, out, options);
    ASSERT_TRUE(done) << done.error().text();
}

TEST(Interpreter, ComputesALinearLayer) {
    Kernel kernel{"linear", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), n = kernel.dim("N"), k = kernel.dim("K");
    kernel.params = {{"x", {DType::bf16, {m, k}}, {}},
                     {"w", {DType::bf16, {n, k}}, {}},
                     {"b", {DType::f32, {n}}, {}}};
    Builder b(kernel);
    const ExprId acc = b.product(b.param(0), b.transpose(b.param(1)));
    const ExprId y = b.unary(UnaryOp::relu, b.binary(BinaryOp::add, acc, b.param(2)));
    kernel.outputs = {{{"y", {DType::bf16, {m, n}}, {}}, y}};
    Memory x(DType::bf16, {2, 3}, {1, 2, 3, -1, 0, 1}), w(DType::bf16, {2, 3}, {1, 1, 1, 0, 2, -1});
    Memory bias(DType::f32, {2}, {0.25, 10}), out(DType::bf16, {2, 2}), wide(DType::f64, {2, 2});
    run(kernel, {&x, &w, &bias}, {&out});
    EXPECT_EQ(out.values(), (std::vector<double>{6.25, 11, 0.25, 9}));
    run(kernel, {&x, &w, &bias}, {&wide});
    EXPECT_EQ(wide.values(), (std::vector<double>{6.25, 11, 0.25, 9}));
}

TEST(Interpreter, FlipsAlongAnyDimension) {
    Kernel kernel{"flips", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), two = kernel.dim("2"), three = kernel.dim("3");
    const DimId both = kernel.factored_dim({two, three});
    kernel.params = {{"x", {DType::f32, {m, both}}, {}}};
    Builder b(kernel);
    const ExprId x = b.view(b.param(0), {m, two, three});
    const ExprId halves = b.flip(x, two), inner = b.flip(x, three);
    const ExprId counted = b.binary(BinaryOp::add, b.flip(b.index(three), three), halves);
    kernel.outputs = {{{"y", {DType::f32, {m, both}}, {}}, b.view(halves, {m, both})},
                      {{"z", {DType::f32, {m, two, three}}, {}}, b.flip(inner, two)},
                      {{"c", {DType::f32, {m, two, three}}, {}}, counted}};
    Memory in(DType::f32, {2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
    Memory y(DType::f32, {2, 6}), z(DType::f32, {2, 2, 3}), c(DType::f32, {2, 2, 3});
    run(kernel, {&in}, {&y, &z, &c});
    EXPECT_EQ(y.values(), (std::vector<double>{3, 4, 5, 0, 1, 2, 13, 14, 15, 10, 11, 12}));
    EXPECT_EQ(z.values(), (std::vector<double>{5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10}));
    EXPECT_EQ(c.values(), (std::vector<double>{5, 5, 5, 2, 2, 2, 15, 15, 15, 12, 12, 12}));
    Memory none(DType::f32, {0, 6}), empty(DType::f32, {0, 6}), nil(DType::f32, {0, 2, 3});
    run(kernel, {&none}, {&empty, &nil, &nil});
}

TEST(Interpreter, BroadcastsBatchesAndPermutes) {
    // y[b, m, h, n] = sum_k x[b, m, h, k] * w[h, k, n], scaled by row and masked.
    const std::int64_t B = 2, M = 5, H = 3, N = 300, K = 7;
    Kernel kernel{"batched", {}, {}, {}, {}};
    const DimId b = kernel.dim("B"), m = kernel.dim("M"), h = kernel.dim("H"), n = kernel.dim("N"),
                k = kernel.dim("7");
    kernel.params = {{"x", {DType::f16, {b, m, h, k}}, {}},
                     {"w", {DType::f16, {h, k, n}}, {}},
                     {"s", {DType::i32, {m}}, {}}};
    Builder build(kernel);
    const ExprId acc = build.product(build.permute(build.param(0), {b, h, m, k}), build.param(1));
    const ExprId scaled = build.binary(BinaryOp::mul, acc, build.param(2));
    const ExprId keep = build.binary(BinaryOp::le, build.index(n), build.index(m));
    const ExprId masked = build.select(keep, scaled, build.literal(-1));
    kernel.outputs = {{{"y", {DType::f32, {b, m, h, n}}, {}}, build.permute(masked, {b, m, h, n})},
                      {{"keep", {DType::boolean, {n, m}}, {}}, keep}};
    const auto xs = numbers(B * M * H * K, 1), ws = numbers(H * K * N, 2), ss = numbers(M, 3);
    Memory x(DType::f16, {B, M, H, K}, xs), w(DType::f16, {H, K, N}, ws), s(DType::i32, {M}, ss);
    Memory y(DType::f32, {B, M, H, N}), mask(DType::boolean, {N, M});
    for (const int threads : {1, 3}) {
        run(kernel, {&x, &w, &s}, {&y, &mask}, {true, threads});
        const auto ys = y.values(), masks = mask.values();
        for (std::int64_t i = 0; i < B * M * H * N; ++i) {
            const auto ni = i % N, hi = i / N % H, mi = i / N / H % M, bi = i / N / H / M;
            double sum = 0;
            for (std::int64_t ki = 0; ki < K; ++ki)
                sum += xs[((bi * M + mi) * H + hi) * K + ki] * ws[(hi * K + ki) * N + ni];
            ASSERT_EQ(ys[i], ni <= mi ? sum * ss[mi] : -1) << i;
            ASSERT_EQ(masks[ni * M + mi], ni <= mi ? 1 : 0);
        }
    }
}

TEST(Interpreter, ChainsProductsAndReadsStridedTensors) {
    // y = (x @ a) @ b with x a transposed view and y with a pitch.
    Kernel kernel{"chain", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), k = kernel.dim("K"), n = kernel.dim("N"), p = kernel.dim("P");
    kernel.params = {{"x", {DType::f32, {m, k}}, {}},
                     {"a", {DType::f32, {k, n}}, {}},
                     {"b", {DType::f32, {n, p}}, {}}};
    Builder build(kernel);
    const ExprId inner = build.product(build.param(0), build.param(1), Precision::tf32);
    kernel.outputs = {{{"y", {DType::f32, {m, p}}, {}}, build.product(inner, build.param(2))}};
    Memory x(DType::f32, {2, 2}, {1, 3, 2, 4}), a(DType::f32, {2, 2}, {1, 1, 0, 1});
    Memory b(DType::f32, {2, 1}, {1, 10}), y(DType::f32, {2, 3}, {7, 7, 7, 7, 7, 7});
    std::swap(x.view.strides[0], x.view.strides[1]);
    TensorView out = y.view;
    out.sizes = {2, 1};
    const TensorView in[] = {x.view, a.view, b.view};
    ASSERT_TRUE(interpret(kernel, in, {&out, 1}));
    // x is [[1, 2], [3, 4]], x @ a is [[1, 3], [3, 7]].
    EXPECT_EQ(y.values(), (std::vector<double>{31, 7, 7, 73, 7, 7}));
}

TEST(Interpreter, RoundsAtCastsOnlyWhenAsked) {
    Kernel kernel{"casts", {}, {}, {}, {}};
    const DimId m = kernel.dim("M");
    kernel.params = {{"x", {DType::f32, {m}}, {}}};
    Builder build(kernel);
    const ExprId third = build.binary(BinaryOp::div, build.param(0), build.literal(3));
    kernel.outputs = {{{"a", {DType::f32, {m}}, {}}, third},
                      {{"b", {DType::f32, {m}}, {}}, build.cast(DType::bf16, third)},
                      {{"c", {DType::i32, {m}}, {}}, build.cast(DType::i32, third)}};
    Memory x(DType::f32, {2}, {1, -5});
    Memory a(DType::f64, {2}), b(DType::f64, {2}), c(DType::i32, {2});
    run(kernel, {&x}, {&a, &b, &c});
    EXPECT_EQ(a.values(), (std::vector<double>{1.0 / 3, -5.0 / 3}));
    EXPECT_EQ(b.values(), (std::vector<double>{0.333984375, -1.6640625}));
    EXPECT_EQ(c.values(), (std::vector<double>{0, -1}));
    run(kernel, {&x}, {&a, &b, &c}, {false, 0});
    EXPECT_EQ(b.values(), (std::vector<double>{1.0 / 3, -5.0 / 3}));
    EXPECT_EQ(c.values(), (std::vector<double>{0, -1}));
}

TEST(Interpreter, TakesScalarsAndEmptyTensors) {
    Kernel kernel{"scalars", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), k = kernel.dim("K"), n = kernel.dim("N");
    kernel.params = {{"s", {DType::f32, {}}, {}},
                     {"x", {DType::f32, {m, k}}, {}},
                     {"w", {DType::f32, {k, n}}, {}}};
    Builder build(kernel);
    kernel.outputs = {
        {{"t", {DType::f32, {}}, {}}, build.unary(UnaryOp::neg, build.param(0))},
        {{"y", {DType::f32, {m, n}}, {}}, build.product(build.param(1), build.param(2))}};
    Memory s(DType::f32, {}, {2}), t(DType::f32, {});
    Memory x(DType::f32, {2, 0}), w(DType::f32, {0, 3}), y(DType::f32, {2, 3}, {1, 1, 1, 1, 1, 1});
    run(kernel, {&s, &x, &w}, {&t, &y});
    EXPECT_EQ(t.values(), std::vector<double>{-2});
    EXPECT_EQ(y.values(), std::vector<double>(6, 0.0));  // a sum of nothing
}

TEST(Interpreter, RefusesTensorsThatDoNotFit) {
    Kernel kernel{"f", {}, {}, {}, {}};
    const DimId m = kernel.dim("M"), eight = kernel.dim("8");
    kernel.params = {{"x", {DType::f32, {m, eight}}, {}}};
    Builder build(kernel);
    kernel.outputs = {{{"y", {DType::f32, {m, eight}}, {}}, build.param(0)}};
    Memory good(DType::f32, {2, 8}), out(DType::f32, {2, 8});
    const auto message = [&](const TensorView& x, const TensorView& y) {
        const auto done = interpret(kernel, {&x, 1}, {&y, 1});
        return done ? "" : done.error().message;
    };
    EXPECT_EQ(message(good.view, out.view), "");
    EXPECT_EQ(message(Memory(DType::i32, {2, 8}).view, out.view),
              "kernel 'f', tensor 'x': the element type is i32, not f32");
    EXPECT_EQ(message(Memory(DType::f32, {2}).view, out.view),
              "kernel 'f', tensor 'x': it has 1 dimensions, not 2");
    EXPECT_EQ(message(Memory(DType::f32, {2, 9}).view, out.view),
              "kernel 'f', tensor 'x': dimension 8 has 9 elements, but 8 elsewhere");
    EXPECT_EQ(message(Memory(DType::f32, {3, 8}).view, out.view),
              "kernel 'f', tensor 'y': dimension M has 2 elements, but 3 elsewhere");
    TensorView null = good.view;
    null.data = nullptr;
    EXPECT_EQ(message(null, out.view), "kernel 'f', tensor 'x': it has no data");
    EXPECT_FALSE(interpret(kernel, {}, {&out.view, 1}));
}

TEST(Pointwise, FunctionsMeanWhatTheTableSays) {
    const auto f = [](UnaryOp op, double x) {
        double out;
        apply(op, {&x, 0}, 1, &out);
        return out;
    };
    EXPECT_EQ(f(UnaryOp::log, 0), -kInf);
    EXPECT_TRUE(std::isnan(f(UnaryOp::sqrt, -1)));
    EXPECT_EQ(f(UnaryOp::rsqrt, 0), kInf);
    EXPECT_EQ(f(UnaryOp::rsqrt, 4), 0.5);
    EXPECT_TRUE(std::isnan(f(UnaryOp::relu, NAN)));
    EXPECT_EQ(f(UnaryOp::relu, -kInf), 0);
    EXPECT_EQ(f(UnaryOp::sigmoid, -1000), 0);
    EXPECT_EQ(f(UnaryOp::sigmoid, 0), 0.5);
    EXPECT_NEAR(f(UnaryOp::gelu, 1), 0.8413447460685429, 1e-15);
    EXPECT_NEAR(f(UnaryOp::gelu_tanh, 1), 0.8411919906082768, 1e-15);
    EXPECT_NEAR(f(UnaryOp::silu, 1), 0.7310585786300049, 1e-15);
    EXPECT_NEAR(f(UnaryOp::softplus, 1), 1.3132616875182228, 1e-15);
    EXPECT_EQ(f(UnaryOp::softplus, 20.5), 20.5);
    EXPECT_NEAR(f(UnaryOp::mish, 1), 0.8650983882673103, 1e-15);
    EXPECT_EQ(f(UnaryOp::mish, 1000), 1000);
    EXPECT_EQ(f(UnaryOp::round, 2.5), 2);
    EXPECT_EQ(f(UnaryOp::round, -3.5), -4);
    EXPECT_EQ(f(UnaryOp::floor, -0.5), -1);
    EXPECT_EQ(f(UnaryOp::ceil, 0.5), 1);
    EXPECT_EQ(f(UnaryOp::sign, -3), -1);
    EXPECT_EQ(f(UnaryOp::tf32, 1 + 0x1p-11), 1 + 0x1p-10);  // ties go away from 0
    EXPECT_EQ(f(UnaryOp::tf32, -1 - 0x1p-12), -1);
    EXPECT_TRUE(std::isnan(f(UnaryOp::sign, NAN)));
    EXPECT_EQ(f(UnaryOp::logical_not, 0), 1);
    const auto g = [](BinaryOp op, double a, double b) {
        double out;
        apply(op, {&a, 0}, {&b, 0}, 1, &out);
        return out;
    };
    EXPECT_TRUE(std::isnan(g(BinaryOp::min, NAN, 1)) && std::isnan(g(BinaryOp::min, 1, NAN)));
    EXPECT_TRUE(std::isnan(g(BinaryOp::max, NAN, 1)) && std::isnan(g(BinaryOp::max, 1, NAN)));
    EXPECT_EQ(g(BinaryOp::pow, 2, -1), 0.5);
    EXPECT_EQ(g(BinaryOp::lt, NAN, 1), 0);
    EXPECT_EQ(g(BinaryOp::eq, NAN, NAN), 0);
    EXPECT_EQ(g(BinaryOp::ne, NAN, NAN), 1);
    const double no = 0, poison = NAN, one = 1;
    double out;
    select({&no, 0}, {&poison, 0}, {&one, 0}, 1, &out);
    EXPECT_EQ(out, 1);
}

TEST(Matmul, AgreesWithThePlainLoopForAwkwardExtents) {
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 9, 3}, {64, 8, 513}, {67, 31, 1030}}) {
        const auto a = numbers(2 * m * k, 4), b = numbers(n * k, 5);
        const auto c = matmul(a, b, {{1, 0}, {0, 0}}, m, n, k, 2);
        for (int z = 0; z < 2; ++z)
            for (int i = 0; i < m; ++i)
                for (int j = 0; j < n; ++j) {
                    double sum = 0;
                    for (int l = 0; l < k; ++l) sum += a[((1 - z) * m + i) * k + l] * b[j * k + l];
                    ASSERT_EQ(c[(z * m + i) * n + j], sum) << m << "x" << n << "x" << k;
                }
    }
}

}  // namespace
}  // namespace fact::ir
