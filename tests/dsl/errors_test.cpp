// Every error code, by the text that causes it. Backticks mark the span the error must have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "dsl/codes.h"
#include "dsl/dsl.h"
#include "error_cases.h"

namespace fact::dsl {
namespace {

TEST(Errors, HaveTheirCodeAndSpan) {
    for (const Case& c : kCases) {
        std::string text;
        std::vector<std::uint32_t> marks;
        for (const char ch : c.marked)
            if (ch == '`')
                marks.push_back(static_cast<std::uint32_t>(text.size()));
            else
                text += ch;
        ASSERT_EQ(marks.size(), 2u) << c.marked;
        Diagnostics diagnostics;
        const auto program = compile(text, diagnostics);
        EXPECT_FALSE(program) << text;
        const std::string all = render_all(diagnostics, "case", text);
        EXPECT_EQ(diagnostics.items().size(), 1u) << text << all;
        if (diagnostics.items().empty()) continue;
        const Diagnostic& found = diagnostics.items()[0];
        EXPECT_EQ(found.code, c.code) << all;
        EXPECT_EQ(found.span, (Span{marks[0], marks[1]})) << all;
        EXPECT_EQ(found.message.back(), '.') << all;
        EXPECT_FALSE(found.fix.empty()) << all;
    }
}

TEST(Errors, OtherSpellingsHaveTheirCure) {
    const Case cures[] = {
        {"`silu(x)`", BODY("y = swish(c)")},
        {"`over: N`", BODY("y = softmax(c, dim=1)")},
        {"`over: N`", BODY("y = softmax(c, axis: N)")},
        {"`slope: 0.1`", BODY("y = leaky_relu(c, slope=0.1)")},
        {"`pow(x, 2.0)`", BODY("y = c ** 2")},
        {"`take(x, over: 3, at: 0)`", BODY("y = c[:, 0]")},
        {"`x: f32[M, G*16]`", "kernel f(x: f32[M, N/16]) -> (y: f32[M]) {\n  y = x\n}\n"},
        {"`tanh(x, ...)`", BODY("y = torch.tanh(c)")},
        {"`gelu_tanh(x)`", BODY("y = gelu(c, approximate: tanh)")},
        {"Leave out the right operand's `.T`",
         "kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = x @ w.T\n}\n"},
        {"`.as(M, E)`",
         "kernel f(x: f32[M, E], w: f32[F, E]) -> (y: f32[M, E]) where F = E {\n"
         "  y = x + x @ w.T\n}\n"},
        {"`where F = E`",
         "kernel f(x: f32[M, E], w: f32[E, E]) -> (y: f32[M, E]) {\n  y = x @ w.T\n}\n"},
    };
    for (const Case& c : cures) {
        Diagnostics diagnostics;
        EXPECT_FALSE(compile(c.marked, diagnostics)) << c.marked;
        ASSERT_FALSE(diagnostics.items().empty());
        EXPECT_NE(diagnostics.items()[0].fix.find(c.code), std::string::npos)
            << c.marked << diagnostics.items()[0].fix;
    }
}

TEST(Errors, AParameterThatIsNeitherReadNorTellsAnExtentIsAWarning) {
    Diagnostics diagnostics;
    compile("kernel f(x: f32[M, N], b: f32[N]) -> (y: f32[M, N]) {\n  y = x\n}\n", diagnostics);
    ASSERT_EQ(diagnostics.items().size(), 1u);
    EXPECT_TRUE(diagnostics.ok());
    EXPECT_EQ(diagnostics.items()[0].severity, Severity::warning);
    EXPECT_EQ(diagnostics.items()[0].code, "F0214");
    Diagnostics none;
    compile(
        "kernel f(h: f32[H], z: f32[M, G*H]) -> (y: f32[M, G]) {\n"
        "  y = sum(z.view(M, G, H), over: H)\n}\n",
        none);
    EXPECT_TRUE(none.items().empty()) << render_all(none, "text", "");
}

TEST(Errors, ReportSeveralInTheTextsOrder) {
    const std::string text =
        "kernel f(x: bf61[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n"
        "  acc = (x @ w.T\n"
        "  t   = relu(acc\n"
        "  y   = gelu_tnh(acc)\n"
        "  q   = $\n"
        "}\n"
        "schedule g on sm90a {\n"
        "  tlie 128x128x64\n"
        "}\n";
    Diagnostics diagnostics;
    EXPECT_FALSE(compile(text, diagnostics));
    std::vector<std::string> codes;
    for (const auto& item : diagnostics.items()) codes.push_back(item.code);
    EXPECT_EQ(codes, (std::vector<std::string>{"F0203", "F0108", "F0108", "F0202", "F0105", "F0102",
                                               "F0401", "F0405"}))
        << render_all(diagnostics, "case", text);
}

TEST(Errors, SuggestTheNearestName) {
    const auto fix = [](std::string_view text) {
        Diagnostics diagnostics;
        compile(text, diagnostics);
        return diagnostics.items().empty() ? "" : diagnostics.items()[0].fix;
    };
    EXPECT_EQ(fix(BODY("y = c.T")), "Reorder the value: `.permute(M, N)`.");
    EXPECT_EQ(fix(BODY("y = b")), "Repeat the value along M: `.expand(M, N)`.");
    EXPECT_EQ(fix("kernel f(x: f32[M, K]) -> (y: f32[M]) {\n  y = x\n}\n"),
              "Reduce the value along K, such as `sum(..., over: K)`, or declare the output as "
              "[M, K].");
    EXPECT_EQ(fix("kernel f(x: f32[M, K*8]) -> (y: f32[M, K, 8]) {\n  y = x\n}\n"),
              "Declare the output as [M, K*8], or give its value the dimensions [M, K, 8]: "
              "`.view(...)` splits and merges them.");
    EXPECT_EQ(fix(BODY("y = c + baas\n")), "Use a parameter, or a name defined on a line above.");
    EXPECT_EQ(fix(BODY("bias = c + b\n  y = biass + c * bias")), "Did you mean 'bias'?");
    EXPECT_EQ(fix(BODY("y = gelu_tanhh(c)")), "Did you mean 'gelu_tanh'?");
    EXPECT_EQ(fix(BODY("y = x @ w")), "Transpose the right operand with `.T`.");
    EXPECT_EQ(fix(BODY("y = c.T")), "Reorder the value: `.permute(M, N)`.");
}

TEST(Errors, AreLimitedInNumber) {
    std::string text = "kernel f(x: f32[M]) -> (y: f32[M]) {\n";
    for (int i = 0; i < 10000; ++i) text += "  y = $\n";
    Diagnostics diagnostics;
    EXPECT_FALSE(compile(text + "}\n", diagnostics));
    EXPECT_EQ(diagnostics.items().size(), 50u);
    EXPECT_EQ(diagnostics.items().back().code, "F0109");
}

TEST(Errors, LimitSizeNestingAndChoices) {
    const auto first = [](const std::string& text) {
        Diagnostics diagnostics;
        EXPECT_FALSE(compile(text, diagnostics));
        return diagnostics.items().empty() ? "" : diagnostics.items()[0].code;
    };
    EXPECT_EQ(first(std::string((1 << 20) + 1, '#')), "F0101");
    EXPECT_EQ(
        first("kernel " + std::string(129, 'f') + "(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n"),
        "F0113");
    const std::string head = "kernel f(x: f32[M]) -> (y: f32[M]) {\n  y = ";
    EXPECT_EQ(first(head + std::string(100000, '(') + "x\n}\n"), "F0106");
    EXPECT_EQ(first(head + std::string(100000, '-') + "x\n}\n"), "F0106");
    std::string nots, calls;
    for (int i = 0; i < 10000; ++i) nots += "not ", calls += "exp(";
    EXPECT_EQ(first(head + nots + "x\n}\n"), "F0106");
    EXPECT_EQ(first(head + calls + "x\n}\n"), "F0106");
    std::string many = "1";
    for (int i = 2; i < 100; ++i) many += fmt::format(", {}", i);
    EXPECT_EQ(first("kernel f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n  y = x @ w\n}\n"
                    "schedule f on sm90a {\n  stages {" +
                    many + "}\n  scheduler persistent(swizzle: {" + many + "})\n}\n"),
              "F0408");
}

TEST(Errors, LimitWhatCallsMultiply) {
    const auto first = [](const std::string& text) {
        Diagnostics diagnostics;
        EXPECT_FALSE(compile(text, diagnostics));
        EXPECT_EQ(diagnostics.items().size(), 1u) << render_all(diagnostics, "case", text);
        return diagnostics.items().empty() ? "" : diagnostics.items()[0].code;
    };
    std::string body, calls, dims, factors = "A";
    for (int i = 0; i < 2000; ++i)
        body += fmt::format("  v{} = exp({})\n", i + 1, i ? fmt::format("v{}", i) : "x");
    for (int i = 0; i < 2000; ++i)
        calls += fmt::format("  h{} = f({})\n", i + 1, i ? fmt::format("h{}", i) : "x");
    EXPECT_EQ(first("kernel f(x: f32[M]) -> (y: f32[M]) {\n" + body + "  y = v2000\n}\n" +
                    "pipeline p(x: f32[M]) -> (y: f32[M]) {\n" + calls + "  y = h2000\n}\n"),
              "F0111");
    for (int i = 0; i < 300; ++i) dims += fmt::format("{}x{}: f32[D{}]", i ? ", " : "", i, i);
    EXPECT_EQ(first("kernel f(" + dims + ") -> (y: f32[D0]) {\n  y = x0\n}\n"), "F0112");
    for (int i = 0; i < 100; ++i) factors += "*A";
    EXPECT_EQ(first("kernel f(x: f32[" + factors + "], z: f32[A]) -> (y: f32[A]) {\n  y = z\n}\n"),
              "F0112");
}

TEST(Errors, EveryCodeOfTheTableIsTested) {
    std::set<std::string> tested = {
        "F0101", "F0106", "F0109", "F0111", "F0112",
        "F0113", "F0214", "F0408", "F0601", "F0602"};  // tests/tools/check_test.cpp
    for (const Case& c : kCases) tested.emplace(c.code);
    std::ifstream file(FACT_SOURCE_DIR "/src/dsl/codes.h");
    const std::string codes{std::istreambuf_iterator<char>(file), {}};
    const std::regex code("\"(F[0-9]{4})\"");
    std::set<std::string> known;
    for (std::sregex_iterator it(codes.begin(), codes.end(), code), end; it != end; ++it)
        EXPECT_TRUE(known.insert((*it)[1]).second) << (*it)[1] << " is there twice";
    EXPECT_GT(known.size(), 50u);
    EXPECT_EQ(tested, known);
    EXPECT_GE(std::size(kCases), 80u);
}

}  // namespace
}  // namespace fact::dsl
