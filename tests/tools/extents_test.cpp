#include "tools/extents.h"

#include "kernels.h"

namespace fact::tools {
namespace {

std::string refused(const ir::Kernel& kernel, const std::vector<Setting>& settings) {
    const auto extents = bind_extents(kernel, settings, Assume::small);
    if (extents) return "";
    EXPECT_TRUE(extents.error().bad_input);
    return extents.error().text();
}

TEST(Extents, SettingsAreNamesAndNumbers) {
    const auto settings = parse_settings({"M=128", "N=7"});
    ASSERT_TRUE(settings);
    EXPECT_EQ((*settings)[1].dim, "N");
    EXPECT_EQ((*settings)[1].extent, 7);
    for (const char* word : {"", "M", "=3", "M=", "M=x", "M=3x", "M=0", "M=-1", "M=1.5",
                             "M=99999999999999999999", "M=9999999999999"})
        EXPECT_FALSE(parse_settings({word})) << word;
    EXPECT_EQ(parse_settings({"M"}).error().text(),
              "--set M is not of the form DIMENSION=EXTENT\n  write it as --set M=128");
}

TEST(Extents, WhatNothingGivesIsAssumedAndSaid) {
    const auto program = compiled(kMlp);
    const ir::Kernel& kernel = program.kernels[0];
    EXPECT_EQ(describe(kernel, bound(kernel, {"M=100", "K=64"}, Assume::small)),
              "M = 100, K = 64, N = 16 (assumed)");
    EXPECT_EQ(describe(kernel, bound(kernel, {"N=1"})),
              "M = 4096 (assumed), K = 4096 (assumed), N = 1");
    const auto all = bound(kernel, {"M=1", "N=2", "K=3"});
    EXPECT_EQ(describe(kernel, all), "M = 1, K = 3, N = 2");
    EXPECT_EQ(num_elements(all, kernel.params[1].type.dims), 6);
}

// The places of windows follow from what the windows go over, even if a tensor names them first.
TEST(Extents, PlacesOfWindowsAreNeverGuessed) {
    const auto program = compiled(
        "kernel f(r: f32[P], x: f32[H]) -> (y: f32[P]) {\n"
        "  y = r + max(x.window(H: P by 3 stride 2), over: 3)\n}\n");
    EXPECT_EQ(describe(program.kernels[0], bound(program.kernels[0], {})),
              "P = 2047 (assumed), H = 4096 (assumed)");
    EXPECT_EQ(describe(program.kernels[0], bound(program.kernels[0], {"H=9"})), "P = 4, H = 9");
}

TEST(Extents, BatchesAreAssumedFew) {
    const auto program = compiled(
        "kernel f(a: f16[B, M, 64], b: f16[B, N, 64]) -> (y: f16[B, M, N]) {\n  y = a @ b.T\n}\n");
    EXPECT_EQ(describe(program.kernels[0], bound(program.kernels[0], {})),
              "B = 8 (assumed), M = 4096 (assumed), N = 4096 (assumed)");
}

TEST(Extents, MistakesAreNamed) {
    const auto program = compiled(kMlp);
    const ir::Kernel& kernel = program.kernels[0];
    EXPECT_EQ(refused(kernel, {{"Q", 3, "--set Q=3"}}),
              "--set Q=3: kernel mlp_up has no dimension 'Q'\n  its dimensions are M, K, N");
    EXPECT_NE(refused(kernel, {{"M", 3, "--set M=3"}, {"M", 4, "x.npy"}})
                  .find("M is 3 according to --set M=3, but 4 according to x.npy"),
              std::string::npos);
    const auto constant = compiled("kernel f(x: f32[M, 64]) -> (y: f32[M, 64]) {\n  y = -x\n}\n");
    EXPECT_NE(refused(constant.kernels[0], {{"64", 65, "x.npy"}})
                  .find("x.npy has 65 elements where the text says 64"),
              std::string::npos);
}

TEST(Extents, ArraysBindTheirDimensions) {
    const auto program = compiled(kMlp);
    const ir::Kernel& kernel = program.kernels[0];
    const auto settings = settings_of(kernel, kernel.params[0], {5, 6}, "x.npy");
    ASSERT_TRUE(settings);
    EXPECT_EQ((*settings)[0].dim, "M");
    EXPECT_EQ((*settings)[1].extent, 6);
    const auto wrong = settings_of(kernel, kernel.params[0], {5}, "x.npy");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().message, "x.npy has 1 dimensions, 'x' has 2");
}

TEST(Extents, TheTextsConstraintsHold) {
    const dsl::Program program = compiled(
        "kernel f(x: f32[M, N], s: f32[D]) -> (y: f32[M, N]) where N = 3*H*D, M % 100 == 0 {\n"
        "  y = x * 2\n}\n");
    const ir::Kernel& kernel = program.kernels.front();
    const Extents assumed = bound(kernel, {"D=8", "H=2"});
    EXPECT_EQ(describe(kernel, assumed).substr(0, 18), "M = 4100 (assumed)");
    EXPECT_EQ(sizes_of(assumed, {kernel.params[0].type.dims[1]}), std::vector<std::int64_t>{48});
    const auto refused = [&](const std::vector<std::string>& words) {
        const auto extents = bind_extents(kernel, *parse_settings(words), Assume::small);
        EXPECT_FALSE(extents);
        return extents ? "" : extents.error().message;
    };
    EXPECT_EQ(refused({"M=150"}), "kernel f: dimension M has 150 elements, not a multiple of 100");
    EXPECT_EQ(refused({"N=50", "D=8"}),
              "kernel f: dimension N has 50 elements, not a multiple of 24");
    EXPECT_EQ(refused({"N=48", "D=8", "H=3"}),
              "kernel f: dimension N has 48 elements, but its factors make 72");
}

}  // namespace
}  // namespace fact::tools
