#include "match/formulas/activations.h"

#include <gtest/gtest.h>

#include "dsl/dsl.h"

namespace fact::match {
namespace {

// The statements after recognition, of a kernel y[M] = statements over x[M].
std::string recognised(const std::string& statements) {
    const std::string text = "kernel f(x: f32[M]) -> (y: f32[M]) {\n  " + statements + "\n}\n";
    Diagnostics diagnostics;
    auto program = dsl::compile(text, diagnostics);
    if (!program) return render_all(diagnostics, "f", text);
    ir::Kernel& kernel = program->kernels.at(0);
    std::vector<std::string> tags(kernel.exprs.size());
    recognise_activations(kernel, tags);
    ir::drop_dead(kernel);
    EXPECT_EQ(ir::verify(kernel), "");
    const std::string result = dsl::to_text(kernel);
    const auto from = result.find("{\n") + 4;
    return result.substr(from, result.rfind("\n}") - from);
}

TEST(Peephole, TanhGeluInItsUsualSpellings) {
    for (const char* spelling : {
             "y = 0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
             "y = x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.79788) + 1.0)",
             "y = 0.5 * (x * (1.0 + tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x))))",
             "y = 0.5 * x + 0.5 * x * tanh(0.7978845608 * x + 0.0356774081 * x * x * x)",
         })
        EXPECT_EQ(recognised(spelling), "y = gelu_tanh(x)") << spelling;
}

TEST(Peephole, ErfGeluAndSilu) {
    EXPECT_EQ(recognised("y = x * 0.5 * (1.0 + erf(x * 0.70710678))"), "y = gelu(x)");
    EXPECT_EQ(recognised("y = sigmoid(x) * x"), "y = silu(x)");
}

TEST(Peephole, ArgumentMayBeAnExpression) {
    EXPECT_EQ(recognised("t = exp(x) + 1.0\n  y = t * sigmoid(t) * 2.0"),
              "t = exp(x) + 1.0\n  y = silu(t) * 2.0");
}

TEST(Peephole, NearMissesStay) {
    for (const char* spelling : {
             "y = 0.5 * x * (1.0 + tanh(0.81 * (x + 0.044715 * x * x * x)))",
             "y = 0.5 * x * (1.0 - tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
             "y = 0.5 * exp(x) * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
             "y = x * sigmoid(1.702 * x)",
         }) {
        const std::string text = recognised(spelling);
        EXPECT_EQ(text.find("gelu"), std::string::npos) << text;
        EXPECT_EQ(text.find("silu"), std::string::npos) << text;
    }
}

TEST(Peephole, DeepChainsEndQuickly) {
    std::string statements = "t0 = x * x";
    for (int i = 1; i < 40; ++i)
        statements += "\n  t" + std::to_string(i) + " = t" + std::to_string(i - 1) + " * t" +
                      std::to_string(i - 1);
    statements += "\n  y = tanh(t39) * t39";
    EXPECT_EQ(recognised(statements).find("gelu"), std::string::npos);
}

}  // namespace
}  // namespace fact::match
