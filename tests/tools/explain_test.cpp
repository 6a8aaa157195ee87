#include "tools/explain.h"

#include "../golden.h"
#include "kernels.h"
#include "tools/explain_steps.h"
#include "tools/kernel_source.h"

namespace fact::tools {
namespace {

std::string explained(std::string_view text, const std::vector<std::string>& settings,
                      std::string_view gpu = "h200") {
    const auto program = compiled(text);
    const auto selected = select_kernel(program, "", "text");
    if (!selected) return selected.error().text();
    const ir::Kernel& kernel = **selected;
    return explain(program, kernel, text, bound(kernel, settings), *find_gpu(gpu));
}

TEST(Explain, ALinearLayerWithItsSchedules) {
    const std::string text = std::string(kMlp) +
                             "schedule mlp_up on sm90a {\n"
                             "  tile {128x256x64, 128x128x64, 128x128x32}  cluster 2x1\n"
                             "  mainloop cooperative  stages {auto, 9}\n"
                             "}\n";
    expect_golden("linear.txt", explained(text, {"M=8192", "N=4096", "K=1024"}));
}

TEST(Explain, ABatchedProductWithoutASchedule) {
    expect_golden(
        "scores.txt",
        explained("kernel scores(q: f32[B, H, M, 64], k: f32[B, H, N, 64], s: f32[]) -> (p: f32[B, "
                  "H, M, N]) {\n"
                  "  acc = q @ k.T\n"
                  "  p = where(index(M) < index(N), -inf, acc * s)\n"
                  "}\n",
                  {"B=2", "H=12"}));
}

TEST(Explain, APipelineOfTwoKernels) {
    expect_golden(
        "pipeline.txt",
        explained(
            "kernel up(x: bf16[M, K], w: bf16[N, K]) -> (h: bf16[M, N]) {\n"
            "  acc = x @ w.T\n"
            "  h = gelu(acc)\n"
            "}\n"
            "pipeline mlp(x: bf16[M, K], w1: bf16[N, K], w2: bf16[K, N]) -> (y: bf16[M, K]) {\n"
            "  h = up(x, w1)\n"
            "  y = h @ w2.T\n"
            "}\n"
            "schedule up on sm90a {\n"
            "  tile 128x128x64\n"
            "}\n",
            {}));
}

TEST(Explain, CutsAndMissingArchitecturesAreSaid) {
    const auto text = explained(
        "kernel f(x: bf16[M, K], a: bf16[N, K], b: bf16[N, K]) -> (y: bf16[M, N], z: bf16[M, N]) "
        "{\n"
        "  y = x @ a.T\n"
        "  z = x @ b.T\n"
        "}\n",
        {});
    EXPECT_NE(text.find("runs on sm90a as a pipeline of 2 kernels"), std::string::npos) << text;
    EXPECT_NE(explained(kMlp, {}, "b200").find("no kernels for the architecture sm100a"),
              std::string::npos);
}

TEST(Explain, ATinyKernelStillTakesALaunch) {
    const auto text = explained(kMlp, {"M=64", "N=64", "K=64"});
    EXPECT_NE(text.find("1.3 us is good: a launch alone takes that long"), std::string::npos)
        << text;
}

TEST(Explain, StepsNameWhatTheyUse) {
    const auto program = compiled(
        "kernel f(x: f32[M, N], v: f32[N], s: f32[], m: bool[M, N]) -> (y: f16[M, N]) {\n"
        "  a = max(-x, v) * s\n"
        "  y = where(m and not (x > 1), f16(a), tanh(a))\n"
        "}\n");
    const ir::Kernel& kernel = program.kernels[0];
    const auto steps = computed_steps(kernel, bound(kernel, {}), "");
    std::string all;
    for (const auto& step : steps) all += step + "\n";
    EXPECT_NE(all.find("-x\n"), std::string::npos) << all;
    EXPECT_NE(all.find("max(#1, v) (v has one value for each of [N])"), std::string::npos) << all;
    EXPECT_NE(all.find("a = #2 * s (s is one number)"), std::string::npos) << all;
    EXPECT_NE(all.find("x > 1"), std::string::npos) << all;
    EXPECT_NE(all.find("m and #"), std::string::npos) << all;
    EXPECT_NE(all.find("a rounded to f16"), std::string::npos) << all;
    EXPECT_NE(all.find("tanh(a): hyperbolic tangent"), std::string::npos) << all;
    EXPECT_NE(all.find("stores y, rounded to f16"), std::string::npos) << all;
}

}  // namespace
}  // namespace fact::tools
