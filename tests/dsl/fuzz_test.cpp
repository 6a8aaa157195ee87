// Random kernels survive printing and reading; damaged texts never crash the compiler.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "dsl/dsl.h"
#include "random_kernel.h"

namespace fact::dsl {
namespace {

// Whether two kernels compute the same, up to numbering, sharing and names.
class Comparer {
  public:
    Comparer(const ir::Kernel& a, const ir::Kernel& b) : a_(a), b_(b) {}

    bool same() {
        if (a_.params.size() != b_.params.size() || a_.outputs.size() != b_.outputs.size())
            return false;
        for (std::size_t i = 0; i < a_.params.size(); ++i)
            if (!same(a_.params[i].type, b_.params[i].type)) return false;
        for (std::size_t i = 0; i < a_.outputs.size(); ++i)
            if (!same(a_.outputs[i].tensor.type, b_.outputs[i].tensor.type) ||
                !same(a_.outputs[i].value, b_.outputs[i].value))
                return false;
        return true;
    }

  private:
    using Dims = std::vector<ir::DimId>;

    bool same(const ir::Type& a, const ir::Type& b) const {
        if (a.dtype != b.dtype || a.dims.size() != b.dims.size()) return false;
        return same(a.dims, b.dims);
    }

    // By name: numbers differ, and a product's name holds its factors'.
    bool same(const Dims& a, const Dims& b) const {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](ir::DimId x, ir::DimId y) {
            return a_[x].name == b_[y].name && a_[x].extent == b_[y].extent;
        });
    }

    bool same(ir::ExprId a, ir::ExprId b) {
        const auto [found, added] = known_.try_emplace({a, b}, true);
        if (!added) return found->second;
        const ir::Expr &x = a_[a], &y = b_[b];
        if (!same(x.type, y.type) || !same_kind(x.node, y.node) || x.stored != y.stored)
            return known_[{a, b}] = false;
        std::vector<ir::ExprId> xs, ys;
        ir::for_each_operand(x.node, [&](ir::ExprId id) { xs.push_back(id); });
        ir::for_each_operand(y.node, [&](ir::ExprId id) { ys.push_back(id); });
        for (std::size_t i = 0; i < xs.size(); ++i)
            if (!same(xs[i], ys[i])) return known_[{a, b}] = false;
        return true;
    }

    // The same node, operands aside.
    bool same_kind(const ir::Node& x, const ir::Node& y) const {
        if (x.index() != y.index()) return false;
        if (const auto* n = std::get_if<ir::Unary>(&x)) return n->op == std::get<ir::Unary>(y).op;
        if (const auto* n = std::get_if<ir::Binary>(&x)) return n->op == std::get<ir::Binary>(y).op;
        if (const auto* n = std::get_if<ir::Product>(&x))
            return n->precision == std::get<ir::Product>(y).precision;
        if (const auto* n = std::get_if<ir::Index>(&x))
            return same(Dims{n->dim}, Dims{std::get<ir::Index>(y).dim});
        if (const auto* n = std::get_if<ir::Extent>(&x))
            return same(Dims{n->dim}, Dims{std::get<ir::Extent>(y).dim});
        if (const auto* n = std::get_if<ir::Flip>(&x))
            return same(Dims{n->dim}, Dims{std::get<ir::Flip>(y).dim});
        if (const auto* n = std::get_if<ir::Reduce>(&x)) {
            const auto& other = std::get<ir::Reduce>(y);
            return n->op == other.op && same(n->over, other.over);
        }
        if (const auto* n = std::get_if<ir::Scan>(&x)) {
            const auto& other = std::get<ir::Scan>(y);
            return n->op == other.op && same(n->over, other.over) &&
                   n->backwards == other.backwards;
        }
        if (const auto* n = std::get_if<ir::Attention>(&x)) {
            const auto& other = std::get<ir::Attention>(y);
            return n->causal == other.causal && n->window == other.window &&
                   n->scale == other.scale && n->empty_rows_are_zero == other.empty_rows_are_zero &&
                   n->cap == other.cap && n->bias.has_value() == other.bias.has_value();
        }
        const bool leaf =
            std::holds_alternative<ir::Param>(x) || std::holds_alternative<ir::Literal>(x);
        return !leaf || x == y;
    }

    const ir::Kernel &a_, &b_;
    std::map<std::pair<ir::ExprId, ir::ExprId>, bool> known_;
};

TEST(Fuzz, RandomKernelsSurvivePrintingAndReading) {
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        const ir::Kernel kernel = random_kernel(seed);
        ASSERT_EQ(ir::verify(kernel), "") << seed;
        const std::string text = to_text(kernel);
        Diagnostics diagnostics;
        const auto program = compile(text, diagnostics);
        ASSERT_TRUE(program) << seed << "\n" << text << render_all(diagnostics, "random", text);
        ASSERT_EQ(program->kernels.size(), 1u);
        ASSERT_EQ(to_text(program->kernels[0]), text) << seed;
        ASSERT_TRUE(Comparer(kernel, program->kernels[0]).same()) << seed << "\n" << text;
        const auto formatted = format(text, diagnostics);
        ASSERT_EQ(formatted.value_or(""), text) << seed;
    }
}

TEST(Fuzz, DamagedTextsNeverCrash) {
    std::string base;
    for (const std::uint32_t seed : {1u, 2u, 3u}) base += to_text(random_kernel(seed));
    base +=
        "kernel g(x: f32[M, 8*D], k: f32[N, D], v: f32[N, E], a: f32) -> (y: f32[M], z: "
        "f32[8, M, E]) where Q = 8*D, N % 4 == 0 {\n"
        "  stored h = (softmax(x.view(M, 8, D), over: [8, D]) * a).permute(8, M, D)\n"
        "  z = attention(h, k, v, mask: causal, bias: index(N), unseen: zero, scale: 0.5) + "
        "extent(8*D)\n"
        "  y = mean(x, over: Q)\n}\n"
        "pipeline p(x: bf16[M, G*D], w: bf16[N, G*D], a: f32[D]) -> (y: bf16[M, N]) {\n"
        "  h = f(x, w)\n  y = bf16(h * f(x, w: w))\n}\n"
        "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n  acc = x @ w.T\n"
        "  y = where(index(M) < 3 and not true, clamp(acc, -1, 1e3), -inf)  # comment\n}\n"
        "schedule f.acc on sm90a {\n  tile {128x256x64, 64x64x64}  stages auto\n"
        "  scheduler persistent(raster: m, swizzle: {1, 2})\n}\n";
    const std::string_view pieces[] = {
        "(",      ")",  "{",      "}",        "[",           "]",        "\n",
        "=",      "-",  ".T",     ",",        "@",           "kernel f", "schedule f on",
        "over: ", "*D", ".view(", "stored ",  "pipeline p",  "8x8",      "1e",
        "not ",   ":",  "->",     "% 8 == 0", " where N = ", "\xff",     std::string_view("\0", 1)};
    Diagnostics none;
    ASSERT_TRUE(compile(base, none)) << render_all(none, "base", base);
    std::mt19937 random(7);
    int accepted = 0;
    for (int round = 0; round < 2000; ++round) {
        std::string text = base;
        const int damages = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < damages; ++i) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = static_cast<char>(random());
                    break;
                case 1:
                    text.erase(at, random() % 20);
                    break;
                case 2:
                    text.insert(at, pieces[random() % std::size(pieces)]);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 60));
            }
        }
        Diagnostics diagnostics;
        const auto program = compile(text, diagnostics);
        ASSERT_EQ(program.has_value(), diagnostics.ok());
        for (const Diagnostic& item : diagnostics.items()) {
            ASSERT_LE(item.span.begin, item.span.end);
            ASSERT_LE(item.span.end, text.size());
        }
        if (!program) continue;
        ++accepted;
        auto kernels = program->kernels;
        kernels.insert(kernels.end(), program->pipelines.begin(), program->pipelines.end());
        for (const ir::Kernel& kernel : kernels) {
            const std::string printed = to_text(kernel);
            Diagnostics again;
            const auto back = compile(printed, again);
            ASSERT_TRUE(back) << printed;
            ASSERT_EQ(to_text(back->kernels[0]), printed);
        }
        const auto once = format(text, none);
        ASSERT_TRUE(once);
        ASSERT_EQ(format(*once, none).value_or(""), *once);
    }
    EXPECT_GT(accepted, 20);
}

TEST(Fuzz, LargeTextsTakeLittleTime) {
    const std::string head = "kernel f(x: f32[M]) -> (y: f32[M]) {\n  y = x";
    std::string sum = head, views2d, names = "kernel f(x: f32[M]) -> (y: f32[M]) {\n";
    while (sum.size() < 500000) sum += " + x";
    views2d = "kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n  y = x";
    while (views2d.size() < 500000) views2d += ".T.T";
    for (int i = 0; names.size() < 500000; ++i)
        names += fmt::format("  v{} = {} + x @ y\n", i, i ? fmt::format("v{}", i - 1) : "x");
    const std::string groups =
        "kernel f(x: f32[M, A*B*C], a: f32[A], b: f32[B]) -> (y: f32[M]) {\n";
    std::string norms = groups, views = groups + "  y = sum((x", products = groups, calls, blocks;
    for (int i = 0; norms.size() < 500000; ++i)
        norms += fmt::format("  v{} = logsumexp(x * w{}, over: A*B*C)\n", i, i);
    while (views.size() < 500000) views += ".view(M, A*B, C).view(M, A, B*C)";
    for (int i = 0; products.size() < 500000; ++i)
        products += fmt::format("  v{} = extent({}*{}*A*B*C) + mean(x, over: [A*B*C, M])\n", i,
                                i + 1, i + 2);
    calls =
        "kernel g(x: f32[M]) -> (y: f32[M]) {\n  y = layer_norm(x, over: M)\n}\n"
        "pipeline p(x: f32[M]) -> (y: f32[M]) {\n";
    for (int i = 0; calls.size() < 500000; ++i) calls += fmt::format("  v{} = g(g(g(x)))\n", i);
    blocks =
        "kernel g(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = x @ w\n}\n"
        "pipeline p(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = g(x, w)\n}\n";
    while (blocks.size() < 500000)
        blocks +=
            "schedule g on sm80 { stages {1, 2, 3, 4} scheduler persistent(swizzle: {1, 2}) }\n";
    for (const std::string& text :
         {sum + "\n}\n", views2d + "\n}\n", names + "}\n", std::string(1 << 20, '('),
          std::string(1 << 20, '{'), norms + "}\n", views + ").view(M, A*B*C), over: A*B*C)\n}\n",
          products + "}\n", calls + "}\n", blocks}) {
        Diagnostics diagnostics;
        const auto program = compile(text, diagnostics);
        if (!program) continue;
        const std::string printed = to_text(program->kernels[0]);
        ASSERT_TRUE(compile(printed, diagnostics));
    }
}

}  // namespace
}  // namespace fact::dsl
