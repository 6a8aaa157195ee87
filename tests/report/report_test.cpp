#include "report/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/spelling.h"
#include "support/table.h"

namespace fact::report {
namespace {

Report example() {
    Report r;
    r.source = "block.py";
    r.dtype = "bf16";
    PatternRow fused;
    fused.id = "p00_linear_gelu";
    fused.where = "block.py:12, mlp.up";
    fused.kernel = "linear_gelu";
    fused.precision = "bf16";
    fused.schedule =
        "tile 128x256x64 cluster 2x1 mainloop cooperative stages auto scheduler "
        "persistent(raster: m, swizzle: 8)";
    fused.fused = true;
    fused.text = {0.0012, 0.0025, 4};
    PatternRow left = fused;
    left.id = "p01_linear";
    left.fused = false;
    left.why = "no candidate passed";
    left.text = {};
    left.schedule = "";
    r.patterns = {fused, left};
    r.statistics = {2, 2, 1, 1, 1, 0, 0, {{"passed", 1}, {"timed out", 1}}, 2, 0, 3, 12.4};
    r.operators = {9, 4, 2, 1, 2};
    return r;
}

TEST(Report, WithoutAGpuItSaysWhatWasNotMeasured) {
    auto r = example();
    r.why_not_measured = "there is no usable GPU";
    r.incidents = {"linear s01: timed out: no answer in 20 s"};
    r.package = "out/package";
    r.run = "out";
    EXPECT_EQ(to_text(r),
              R"(block.py in bf16, no GPU

  pattern          source               precision  schedule                     text's error / torch's  result
  ---------------  -------------------  ---------  ---------------------------  ----------------------  ------------------------------
  p00_linear_gelu  block.py:12, mlp.up  bf16       128x256x64 c2x1 cooperative       1.2e-03 / 2.5e-03  fused, not run
  p01_linear       block.py:12, mlp.up  bf16                                                         -  not fused: no candidate passed
  error of the interpreted text: largest, over the output's largest magnitude, against f64

rejected candidates:
  linear s01: timed out: no answer in 20 s

the run:
  operators 9: 4 in patterns that were fused, 2 in others, 1 left alone, 2 without work
  patterns found 2, families 2, with a kernel 1, verified as text 1, on the GPU 0, patterns composed 1
  candidates 2: 1 passed, 1 timed out; compiled 2, from the cache 0; 12 s in all

not measured: times, and the compiled kernels' results, because there is no usable GPU
  checked here: 1 of 2 families have a kernel that compiles; the texts of 1 of them, interpreted on the CPU (large extents shrunk), agree with torch

files of this run: out
package: out/package
  use it: module = fact.load("out/package")
)");
}

TEST(Report, WhatNeverCompiledIsNotSaidTo) {
    auto r = example();
    r.why_not_measured = "there is no usable GPU";
    r.patterns[0] = r.patterns[1];
    r.statistics.realized = r.statistics.texts = r.statistics.composed = 0;
    r.failed = true;
    r.no_package = "no pattern was fused, so no package was written\n";
    const auto text = to_text(r);
    EXPECT_EQ(text.find("compiles"), std::string::npos) << text;
    EXPECT_EQ(text.find("against f64"), std::string::npos) << text;
    EXPECT_EQ(text.find("fact.load"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(to_json(r));
    EXPECT_TRUE(json.at("failed").get<bool>());
    EXPECT_EQ(json.at("no_package"), r.no_package);
    EXPECT_TRUE(json.at("package").is_null());
}

TEST(Report, AModuleWithoutPatternsHasAReportToo) {
    Report r;
    r.source = "plain.py";
    r.no_package = "nothing to fuse: 1 operator\n";
    r.why_not_measured = "there is no usable GPU";  // nothing was there to be measured
    r.left_alone = {{"sin", "aten.sin.default", "no product is next to it", {}}};
    r.idle = {{"view", "aten.view.default", "it is a view, which moves no data", {}}};
    r.operators = {2, 0, 0, 1, 1};
    EXPECT_EQ(to_text(r), R"(plain.py, no GPU

left alone:
  aten.sin.default: no product is next to it

the run:
  operators 2: 0 in patterns that were fused, 0 in others, 1 left alone, 1 without work
  patterns found 0, families 0, with a kernel 0, verified as text 0, on the GPU 0, patterns composed 0
  candidates 0; compiled 0, from the cache 0; 0 s in all

nothing to fuse: 1 operator
)");
    const auto json = nlohmann::json::parse(to_json(r));
    EXPECT_EQ(json.at("left_alone").size(), 2u);
    EXPECT_EQ(json.at("left_alone").at(0).at("work"), true);
    EXPECT_EQ(json.at("left_alone").at(1).at("work"), false);
    EXPECT_EQ(json.at("operators").at("all"), 2);
    EXPECT_TRUE(json.at("agrees").is_null());
}

TEST(Report, TheErrorOfATextIsNotTakenForAKernels) {
    auto r = example();
    r.device = "NVIDIA H200";
    r.patterns[0].compiled = {0.0013, 0.0025, 5};
    r.patterns[1].text = {0.5, 0.0025, 4};
    const auto text = to_text(r);
    EXPECT_NE(text.find("  error / torch's"), std::string::npos) << text;
    EXPECT_NE(text.find("  1.3e-03 / 2.5e-03  fused\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  text's: 5.0e-01 / 2.5e-03  not fused"), std::string::npos) << text;
}

TEST(Report, FiguresOfAnEarlierRunSaySo) {
    auto r = example();
    r.device = "NVIDIA H200";
    r.patterns[0].earlier = true;
    r.statistics.earlier = r.statistics.realized = 1;
    r.whole_earlier = "2026-01-02T03:04:05+00:00";
    r.agrees = true;
    auto text = to_text(r);
    EXPECT_NE(text.find("  the kernels are known from an earlier run: these are its figures\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("figures are those of an earlier run, of 2026-01-02T03:04:05+00:00\n"),
              std::string::npos)
        << text;
    const auto json = nlohmann::json::parse(to_json(r));
    EXPECT_EQ(json.at("patterns").at(0).at("from_earlier_run"), true);
    EXPECT_EQ(json.at("whole_from_earlier_run"), r.whole_earlier);
    EXPECT_EQ(json.at("agrees"), true);
    r.statistics.realized = 2;
    EXPECT_NE(to_text(r).find("  1 of 2 kernels are known from an earlier run"), std::string::npos);
}

TEST(Report, AnErrorIsAnObjectOfItsOwn) {
    const auto json = nlohmann::json::parse(to_json(Error{"x.py: no such file", "give one", true}));
    EXPECT_EQ(json.at("error").at("message"), "x.py: no such file");
    EXPECT_EQ(json.at("error").at("hint"), "give one");
    const auto bare = nlohmann::json::parse(to_json(Error{"bytes \xff", {}}));
    EXPECT_TRUE(bare.at("error").at("hint").is_null());
}

TEST(Report, APackageWithoutWeightsIsLoadedWithThem) {
    auto r = example();
    r.package = "out/package";
    r.without_weights = true;
    EXPECT_NE(to_text(r).find("fact.load(\"out/package\", weights=original_module)\n"),
              std::string::npos);
}

TEST(Report, TimesCarryTheirSpread) {
    auto r = example();
    r.device = "NVIDIA H200";
    r.patterns[0].single = {100, 98, 104, 200};
    r.patterns[0].baseline_single = {150, 147, 156, 200};
    r.whole = {{"eager", {1000, 990, 1010, 50}, {1100, 1090, 1110, 50}, ""},
               {"torch.compile", {}, {}, "failed: no compiler"},
               {"composed", {500, 495, 505, 50}, {550, 545, 555, 50}, ""}};
    const auto text = to_text(r);
    EXPECT_NE(text.find("1.50x (1.41 to 1.59)"), std::string::npos) << text;
    EXPECT_NE(text.find("2.00x (1.96 to 2.04)"), std::string::npos) << text;
    EXPECT_NE(text.find("failed: no compiler"), std::string::npos) << text;
    EXPECT_EQ(text.find("not measured"), std::string::npos) << text;
}

TEST(Report, SaysWhatTimesAreOf) {
    auto r = example();
    r.device = "NVIDIA H200";
    r.precision = "fp32 products in fp32, convolutions in TF32";
    r.patterns[0].single = {100, 98, 104, 200};
    r.patterns[0].baseline_single = {2300, 2290, 2310, 200};
    r.whole = {{"eager", {1000, 990, 1010, 50}, {1100, 1090, 1110, 50}, "", 0, "calls"},
               {"composed", {500, 495, 505, 50}, {550, 545, 555, 50}, "", 0, "a CUDA graph"}};
    const auto text = to_text(r);
    EXPECT_NE(
        text.find("torch's settings, which kernels follow: fp32 products in fp32, convolutions "
                  "in TF32\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("    time  exported  single"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  exported: the same operators as torch.export wrote them"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  sustained: calls\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  sustained: a CUDA graph\n"), std::string::npos) << text;
    const auto json = nlohmann::json::parse(to_json(r));
    EXPECT_EQ(json.at("precision"), r.precision);
    EXPECT_EQ(json.at("whole").at(1).at("sustained_of"), "a CUDA graph");
}

TEST(Report, PatternsOfOneKernelAreOneRow) {
    auto r = example();
    r.patterns[1] = r.patterns[0];
    r.patterns[0].kernel = r.patterns[1].kernel = "linear_gelu_12";
    r.patterns[1].id = "p07_linear_gelu";
    r.patterns.push_back(r.patterns[1]);
    r.patterns.back().fused = false;
    r.patterns.back().id = "p09_linear_gelu";
    r.patterns.back().why = "slower than torch (0.90x)";
    const auto text = to_text(r);
    EXPECT_NE(text.find("  p00_linear_gelu      2  block.py:12"), std::string::npos) << text;
    EXPECT_EQ(text.find("p07"), std::string::npos) << text;
    EXPECT_NE(text.find("  p09_linear_gelu      1  block.py:12"), std::string::npos) << text;
    EXPECT_EQ(nlohmann::json::parse(to_json(r)).at("patterns").size(), 3u);
}

TEST(Report, TheAblationIsATable) {
    auto r = example();
    EXPECT_TRUE(nlohmann::json::parse(to_json(r)).at("ablation").is_null());
    r.ablation.eager = {1000, 990, 1010, 20};
    r.ablation.all = {400, 396, 404, 20};
    r.ablation.patterns = 3;
    r.ablation.rows = {{"linear", 2, {500, 495, 505, 20}, {800, 790, 810, 20}, true},
                       {"norm", 1, {}, {399, 390, 400, 20}, false}};
    EXPECT_EQ(
        ablation_table(r.ablation),
        R"(  ablation     patterns    alone  against eager         all but it  against eager         runs  in the package
  -----------  --------  -------  --------------------  ----------  --------------------  ----  --------------
  linear              2   500 us  2.00x (1.96 to 2.04)      800 us  1.25x (1.22 to 1.28)    20  yes
  norm                1        -  -                         399 us  2.51x (2.48 to 2.59)    20  no
  all                 3   400 us  2.50x (2.45 to 2.55)                                      20
  none: eager         0  1.00 ms  1                                                         20
)");
    const auto json = nlohmann::json::parse(to_json(r)).at("ablation");
    r.ablation.rows[1].instead = {390, 385, 395, 20};
    EXPECT_NE(ablation_table(r.ablation).find("20  no\n"), std::string::npos);
    EXPECT_NE(ablation_table(r.ablation).find(" 390 us  2.56x (2.51 to 2.62) "), std::string::npos);
    EXPECT_EQ(json.at("all").at("median_us"), 400);
    EXPECT_EQ(json.at("families").at(0).at("alone").at("runs"), 20);
    EXPECT_TRUE(json.at("families").at(1).at("alone").is_null());
    EXPECT_EQ(json.at("families").at(1).at("kept"), false);
}

TEST(Report, TheJsonHoldsTheSame) {
    auto r = example();
    r.patterns[0].single = {100, 98, 104, 200};
    const auto json = nlohmann::json::parse(to_json(r));
    EXPECT_EQ(json.at("patterns").at(0).at("single").at("runs"), 200);
    EXPECT_TRUE(json.at("patterns").at(0).at("torch_single").is_null());
    EXPECT_EQ(json.at("statistics").at("candidates").at("timed out"), 1);
}

TEST(Report, EqualReasonsAreJoined) {
    graph::Provenance where;
    where.file = "block.py", where.line = 3;
    const match::LeftAlone odd{"mm", "aten.mm.default", "its rows are 1001 elements", where};
    EXPECT_EQ(reasons({odd, odd}),
              "  aten.mm.default (2 times) at block.py:3: its rows are 1001 elements\n");
    // Layers of a kind differ in the numbers of names and in their module.
    auto first = odd, second = odd;
    first.reason = "view_1 is also used by slice_2", first.where.module_path = "layers.0";
    second.reason = "view_13 is also used by slice_4", second.where.module_path = "layers.1";
    EXPECT_EQ(
        reasons({first, second}),
        "  aten.mm.default (2 times) at block.py:3, layers.0: view_1 is also used by slice_2\n");
    std::vector<match::LeftAlone> many;
    for (int i = 0; i < 5; ++i) {
        many.push_back(odd);
        many.back().where.line = i + 1;
    }
    EXPECT_TRUE(reasons(many, 2).ends_with("  and 3 more\n"));
    many.front().reason = many[1].reason = match::kNothingToFuseWith;
    const auto shown = reasons(many, 3);
    EXPECT_EQ(shown.find(match::kNothingToFuseWith), std::string::npos) << shown;
    EXPECT_TRUE(shown.ends_with("  and 2 more\n")) << shown;
}

TEST(Numbers, AreShort) {
    EXPECT_EQ(duration(0.5), "500 ns");
    EXPECT_EQ(duration(12.34), "12.3 us");
    EXPECT_EQ(duration(4567), "4.57 ms");
    EXPECT_EQ(duration(2.5e6), "2.50 s");
    EXPECT_EQ(quantity(512), "512");
    EXPECT_EQ(quantity(1.5e9), "1.50 G");
    EXPECT_EQ(error_text(0), "0");
    EXPECT_EQ(error_text(0.00123), "1.2e-03");
}

}  // namespace
}  // namespace fact::report
