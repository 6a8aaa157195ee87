#include "support/diagnostics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fact {
namespace {

constexpr std::string_view kText = "kernel f() {\n\ty = gelo(x)\n}\n";

Diagnostics one_error() {
    Diagnostics found;
    auto at = static_cast<std::uint32_t>(kText.find("gelo"));
    found.error("F0203", {at, at + 4}, "no function 'gelo'", "did you mean 'gelu'?");
    return found;
}

TEST(Diagnostics, CaretStandsUnderTheSpan) {
    EXPECT_EQ(render_all(one_error(), "mlp.fact", kText),
              "mlp.fact:2:6: error[F0203]: no function 'gelo'\n"
              " 2 | \ty = gelo(x)\n"
              "   | \t    ^^^^\n"
              "   = help: did you mean 'gelu'?\n");
}

TEST(Diagnostics, SpanOverSeveralLinesMarksTheFirst) {
    Diagnostic whole{Severity::error, "F0001", {0, 20}, "unfinished", ""};
    EXPECT_EQ(render(whole, "a", kText),
              "a:1:1: error[F0001]: unfinished\n 1 | kernel f() {\n   | ^^^^^^^^^^^^\n");
}

TEST(Diagnostics, EndOfTextHasACaretToo) {
    Diagnostic end{Severity::error, "F0002", {3, 3}, "expected ')'", ""};
    EXPECT_EQ(render(end, "a", "f(x"), "a:1:4: error[F0002]: expected ')'\n 1 | f(x\n   |    ^\n");
    EXPECT_EQ(render({Severity::error, "F0002", {90, 95}, "m", ""}, "a", ""),
              "a:1:1: error[F0002]: m\n 1 | \n   | ^\n");
}

TEST(Diagnostics, LongLinesAndControlBytesStayReadable) {
    const std::string text = std::string(5000, 'a') + "\x1b[31m" + std::string(5000, 'b');
    const std::string shown = render({Severity::error, "F0002", {5000, 5001}, "m", ""}, "a", text);
    EXPECT_LT(shown.size(), 400u);
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    const auto line = shown.find(" 1 | ") + 5, caret = shown.find("   | ") + 5;
    EXPECT_EQ(shown.find('?') - line, shown.find('^') - caret);
}

TEST(Diagnostics, JsonCarriesPositions) {
    auto json = nlohmann::json::parse(render_json(one_error(), "mlp.fact", kText));
    ASSERT_EQ(json.size(), 1u);
    EXPECT_EQ(json[0]["code"], "F0203");
    EXPECT_EQ(json[0]["line"], 2);
    EXPECT_EQ(json[0]["column"], 6);
    EXPECT_EQ(json[0]["end_column"], 10);
    EXPECT_EQ(kText.substr(json[0]["begin"], 4), "gelo");
    EXPECT_EQ(json[0]["end"], json[0]["begin"].get<int>() + 4);
    EXPECT_EQ(json[0]["fix"], "did you mean 'gelu'?");
}

TEST(Diagnostics, JsonSurvivesBytesThatAreNotText) {
    Diagnostics found;
    found.error("F0001", {0, 1}, "unexpected '\xff'");
    EXPECT_NO_THROW(nlohmann::json::parse(render_json(found, "a", "\xff")));
}

TEST(Diagnostics, OkUntilTheFirstError) {
    EXPECT_TRUE(Diagnostics{}.ok());
    EXPECT_FALSE(one_error().ok());
}

TEST(Locate, CountsLinesAndColumnsFromOne) {
    EXPECT_EQ(locate("ab\nc", 0).line, 1);
    EXPECT_EQ(locate("ab\nc", 2).column, 3);
    EXPECT_EQ(locate("ab\nc", 3).line, 2);
    EXPECT_EQ(locate("ab\nc", 3).column, 1);
    EXPECT_EQ(locate("ab\nc", 100).column, 2);
}

TEST(Nearest, FindsAMisspellingAndNothingFar) {
    std::vector<std::string> known{"gelu", "gelu_tanh", "relu", "sigmoid"};
    EXPECT_EQ(nearest("gelo", known), "gelu");
    EXPECT_EQ(nearest("sigmiod", known), "sigmoid");
    EXPECT_EQ(nearest("convolution", known), "");
    EXPECT_EQ(nearest("x", {"y"}), "");
    // However much there is to look at, it takes little time.
    const std::string longest(1'000'000, 'a');
    EXPECT_EQ(nearest(longest + "b", {longest}), "");
    std::vector<std::string> many(1'000'000, "geluu");
    many[0] = "gelu";
    EXPECT_EQ(nearest("gelo", many), "gelu");
}

}  // namespace
}  // namespace fact
