#include <gtest/gtest.h>

#include "dsl/dsl.h"

namespace fact::dsl {
namespace {

std::string formatted(const std::string& text) {
    Diagnostics diagnostics;
    const auto out = format(text, diagnostics);
    EXPECT_TRUE(out) << render_all(diagnostics, "text", text);
    return out.value_or("");
}

TEST(Formatter, SpacesTokensAlignsAssignmentsAndKeepsComments) {
    const std::string text =
        "\n\n# The first layer.\n"
        "kernel mlp_up (x :bf16[M,K],w: bf16 [ N , K ]  ,\n b: bf16[N])->(y:bf16[ M,N ]){\n\n"
        "acc=x@w . T   # accumulates in f32   \n"
        "# now the activation\n\n\n"
        "  t = -acc+ -1.0*( b-acc )\n"
        "      scaled = where(not(t<b)and true,max ( t,b ),\n"
        "t\n-b)\n"
        "  y=gelu_tanh( scaled )}\n"
        "\n\n"
        "schedule   mlp_up . acc on sm90a{ tile {128x256x64,128x128x64} cluster 2x1\n"
        "  scheduler persistent(raster:m,swizzle : {2,4}) stages auto # deep\n"
        "}";
    const std::string expected =
        "# The first layer.\n"
        "kernel mlp_up(x: bf16[M, K], w: bf16[N, K],\n"
        "    b: bf16[N]) -> (y: bf16[M, N]) {\n"
        "  acc = x @ w.T  # accumulates in f32\n"
        "  # now the activation\n"
        "\n"
        "  t      = -acc + -1.0 * (b - acc)\n"
        "  scaled = where(not (t < b) and true, max(t, b),\n"
        "      t\n"
        "      - b)\n"
        "  y      = gelu_tanh(scaled)\n"
        "}\n"
        "\n"
        "schedule mlp_up.acc on sm90a {\n"
        "  tile {128x256x64, 128x128x64}  cluster 2x1\n"
        "  scheduler persistent(raster: m, swizzle: {2, 4})  stages auto  # deep\n"
        "}\n";
    EXPECT_EQ(formatted(text), expected);
    EXPECT_EQ(formatted(expected), expected);
}

TEST(Formatter, KnowsDimensionsPipelinesAndStoredValues) {
    const std::string text =
        "kernel f(x:f32[M,8 * D],s :f32)->(y:f32[ M ]){ # groups\n"
        "stored h=x.view( M,8,D )*s*2 # 2 * s\n"
        "t=max(h.permute(M , D,8), over :[ 8,D])\n"
        "y = t+mean( x ,over:8 *D)*extent( 8*D )- index(M)*2\n"
        "}\n"
        "# chained\n"
        "pipeline p(x: f32[M, 8*D],\n  s: f32) -> (y: f32[M]) {\n"
        "a ,bb=two( x )\n"
        "y = f( x*a, s:bb )  }\n";
    const std::string expected =
        "kernel f(x: f32[M, 8*D], s: f32) -> (y: f32[M]) {  # groups\n"
        "  stored h = x.view(M, 8, D) * s * 2  # 2 * s\n"
        "  t        = max(h.permute(M, D, 8), over: [8, D])\n"
        "  y        = t + mean(x, over: 8*D) * extent(8*D) - index(M) * 2\n"
        "}\n"
        "# chained\n"
        "pipeline p(x: f32[M, 8*D],\n"
        "    s: f32) -> (y: f32[M]) {\n"
        "  a, bb = two(x)\n"
        "  y     = f(x * a, s: bb)\n"
        "}\n";
    EXPECT_EQ(formatted(text), expected);
    EXPECT_EQ(formatted(expected), expected);
}

TEST(Formatter, RefusesWhatDoesNotParse) {
    Diagnostics diagnostics;
    EXPECT_FALSE(format("kernel f(", diagnostics));
    EXPECT_FALSE(diagnostics.ok());
}

TEST(Formatter, EmptyTextStaysEmpty) {
    EXPECT_EQ(formatted(""), "");
    EXPECT_EQ(formatted("  \n\n # only a comment"), "# only a comment\n");
}

TEST(Format, OneWideStatementDoesNotPushTheOthersOut) {
    const std::string wide(60, 'w');
    const std::string text =
        "kernel f(x: f32[M]) -> (y: f32[M]) {\n  " + wide + " = x\n  y = " + wide + "\n}\n";
    Diagnostics diagnostics;
    const auto formatted = format(text, diagnostics);
    ASSERT_TRUE(formatted.has_value());
    EXPECT_EQ(*formatted, text);
}

}  // namespace
}  // namespace fact::dsl
