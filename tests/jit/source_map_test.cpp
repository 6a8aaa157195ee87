#include "jit/source_map.h"

#include <gtest/gtest.h>

namespace fact::jit {
namespace {

constexpr std::string_view kEmitted =
    "#include \"sm90/product.cuh\"\n"
    "struct Finish {\n"
    "    float const t0 = acc + at.b.at(i);  // mlp.fact:3\n"
    "    return F::gelo(t0);  // mlp.fact:3\n"
    "};\n"
    "    product<Config>(map_x);\n";

constexpr std::string_view kKernel =
    "kernel mlp(x: bf16[M, K]) -> (y: bf16[M, N]) {\n"
    "  acc = x @ w.T\n"
    "  y = gelo(acc + b)\n"
    "}\n";

TEST(SourceMap, ReadsTheMarkerAtTheEndOfALine) {
    EXPECT_EQ(origin_of("x = 1;  // mlp.fact:12"), (Origin{"mlp.fact", 12}));
    EXPECT_EQ(origin_of("x = 1;  // a b/c:d.fact:7  \r"), (Origin{"a b/c:d.fact", 7}));
    EXPECT_EQ(origin_of("x = \"// \";  // <stdin>:1"), (Origin{"<stdin>", 1}));
    for (const char* line : {"", "x = 1;", "// words", "// :3", "// a:0", "// a:-1", "// a:b",
                             "// a:99999999999", "a:3", "// see a:3 for more"})
        EXPECT_FALSE(origin_of(line)) << line;
}

TEST(SourceMap, TheFileWithoutMarkersIsTheSameForEveryText) {
    EXPECT_EQ(without_origins("a;  // x.fact:1\nb;\t\n// words\nc;  // <stdin>:12"),
              "a;\nb;\t\n// words\nc;");
    EXPECT_EQ(without_origins("a;\n"), "a;\n");
    EXPECT_EQ(without_origins(""), "");
}

TEST(SourceMap, PlacesErrorsOfTheEmittedFile) {
    const auto errors = errors_in(
        "kernel.cu(4): error: class \"F\" has no member \"gelo\"\n"
        "      return F::gelo(t0);\n"
        "                ^\n"
        "\n"
        "/tmp/x/kernel.cu(5): warning #177-D: unused\n"
        "kernel.cu(6): fatal error #20-D: too much\n"
        "2 errors detected in the compilation of \"kernel.cu\".\n",
        kEmitted, "kernel.cu");
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_EQ(errors[0], (CompilerError{"class \"F\" has no member \"gelo\"", "kernel.cu(4)", 4,
                                        Origin{"mlp.fact", 3}}));
    EXPECT_EQ(errors[1], (CompilerError{"too much", "kernel.cu(6)", 6, std::nullopt}));
}

TEST(SourceMap, PlacesErrorsOfHeadersWhereTheyAreInstantiated) {
    const auto errors = errors_in(
        "/fact/kernels/sm90/epilogue.cuh(88): error: no operator \"+\" matches these operands\n"
        "          detected during:\n"
        "            instantiation of \"void a<T>()\" at line 41 of "
        "/fact/kernels/sm90/product.cuh\n"
        "            instantiation of \"void b<T>()\" at line 3 of kernel.cu\n"
        "\n"
        "/fact/kernels/sm90/tiles.cuh(9): error: another\n",
        kEmitted, "kernel.cu");
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_EQ(errors[0].place, "epilogue.cuh(88)");
    EXPECT_EQ(errors[0].emitted_line, 3);
    EXPECT_EQ(errors[0].origin, (Origin{"mlp.fact", 3}));
    EXPECT_EQ(errors[1].emitted_line, 0);
    EXPECT_FALSE(errors[1].origin);
}

TEST(SourceMap, ReportsTheKernelTextWhereItIsKnown) {
    EXPECT_EQ(report_errors("kernel.cu(4): error: no gelo\nkernel.cu(6): error: no map\n", kEmitted,
                            {"some/mlp.fact", kKernel}, "kernel.cu"),
              "mlp.fact:3: error: no gelo\n"
              "  3 | y = gelo(acc + b)\n"
              "  kernel.cu:4 | return F::gelo(t0);  // mlp.fact:3\n"
              "kernel.cu(6): error: no map\n"
              "  kernel.cu:6 | product<Config>(map_x);");
    EXPECT_EQ(report_errors("ptxas info: fine\n", kEmitted, {"mlp.fact", kKernel}, "kernel.cu"),
              "");
}

TEST(SourceMap, ManyErrorsAreCutAndOddLogsSurvived) {
    std::string log;
    for (int i = 0; i < 50; ++i) log += "kernel.cu(999999): error: again\n";
    const auto report = report_errors(log, kEmitted, {"mlp.fact", kKernel}, "kernel.cu");
    EXPECT_NE(report.find("and 44 more"), std::string::npos);
    const std::string long_line = "kernel.cu(3): error: " + std::string(500'000, '(');
    EXPECT_EQ(errors_in(long_line, kEmitted, "kernel.cu").size(), 1u);
    EXPECT_TRUE(errors_in(std::string("\0\xff\n(((", 6), "", "kernel.cu").empty());
    EXPECT_EQ(
        errors_in("kernel.cu(99999999999999): error: x", kEmitted, "kernel.cu")[0].emitted_line, 0);
}

}  // namespace
}  // namespace fact::jit
