#include "tools/build.h"

#include <cstdlib>

#include "kernels.h"
#include "support/files.h"

namespace fact::tools {
namespace {

namespace fs = std::filesystem;

Emitted emitted(const KernelSource& source) {
    const auto program = compile(source);
    EXPECT_TRUE(program) << program.error().text();
    const auto kernel = select_kernel(*program, "", source.name);
    EXPECT_TRUE(kernel) << kernel.error().text();
    auto out = emit(**kernel, {}, "sm90a", bound(**kernel, {}));
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : Emitted{};
}

// The emitted lines that name a line of the kernel text, without their indentation.
std::vector<std::string> marked_lines(const std::string& source) {
    std::vector<std::string> marked;
    for (std::size_t begin = 0; begin < source.size();) {
        const std::size_t end = source.find('\n', begin);
        const std::string line = source.substr(begin, end - begin);
        if (line.find("  // mlp.fact:") != line.npos)
            marked.push_back(line.substr(line.find_first_not_of(' ')));
        begin = end + 1;
    }
    return marked;
}

TEST(Emit, LinesNameWhereTheyComeFrom) {
    const Emitted product = emitted({"some/mlp.fact", std::string(kMlp)});
    EXPECT_EQ(
        marked_lines(product.source),
        (std::vector<std::string>{
            "Row<bf16> b;  // mlp.fact:1",
            "float const t0 = acc + at.b.at(i);  // mlp.fact:3",
            "return F::gelu_tanh(t0);  // mlp.fact:3",
            "product<Config, Mainloop>({map_x, map_w}, map_y, map_y, extents, order, finish);  // "
            "mlp.fact:2",
        }));
    EXPECT_EQ(product.record.params[2].origin, "mlp.fact:1");
    EXPECT_EQ(product.record.outputs[0].origin, "mlp.fact:1");

    const Emitted rows = emitted({"mlp.fact",
                                  "# two lines\n"
                                  "kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                  "  m = max(x, over: N)\n"
                                  "  y = x - m\n"
                                  "}\n"});
    EXPECT_EQ(marked_lines(rows.source),
              (std::vector<std::string>{
                  "Tensor<float const, 2> x;  // mlp.fact:2",
                  "Tensor<float, 2> y;  // mlp.fact:2",
                  "auto const m1 = Row::reduce<Max>(int64_t{args.N}, [&](int n) {  // mlp.fact:3",
                  "float const x = widen(args.x(m, n));  // mlp.fact:2",
                  "return x;  // mlp.fact:3",
                  "float const x = widen(args.x(m, n));  // mlp.fact:2",
                  "float const y = x - m1;  // mlp.fact:4",
                  "args.y(m, n) = narrow<float>(y);  // mlp.fact:4",
              }));
}

TEST(Emit, ACallOfAPipelineIsWrittenWhereItsKernelIs) {
    const Emitted pipeline = emitted({"mlp.fact",
                                      "kernel up(x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                      "  y = exp(x)\n"
                                      "}\n"
                                      "pipeline two(x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                      "  h = up(x)\n"
                                      "  y = up(h)\n"
                                      "}\n"});
    int exponentials = 0;
    for (const std::string& line : marked_lines(pipeline.source))
        if (line.find("F::exp(") != line.npos) {
            ++exponentials;
            EXPECT_TRUE(line.ends_with("mlp.fact:2")) << line;
        }
    EXPECT_EQ(exponentials, 2);
}

TEST(Emit, AKernelOfNoFileHasNoMarks) {
    const dsl::Program program = compiled(kMlp);
    const ir::Kernel& kernel = program.kernels.front();
    const auto out = emit(kernel, {}, "sm90a", bound(kernel, {}));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->source.find(".fact:"), std::string::npos);
    EXPECT_EQ(out->record.params[0].origin, "");
}

// A function is missing from the skeletons: the real compiler says so, and where.
TEST(Build, WhatTheCompilerRejectsIsReportedAtItsLine) {
    const auto found = jit::find_toolchain();
    if (!found) GTEST_SKIP() << found.error().text();
    const TemporaryFolder folder(testing::TempDir(), "build");
    jit::Toolchain toolchain = *found;
    toolchain.kernels_folder = folder.path() / "kernels";
    fs::copy(found->kernels_folder, toolchain.kernels_folder, fs::copy_options::recursive);
    const fs::path numbers = toolchain.kernels_folder / "common" / "numbers.cuh";
    std::string text = *read_file(numbers);
    const std::string name = " softplus(";
    ASSERT_NE(text.find(name), text.npos);
    text.replace(text.find(name), name.size(), " softplus_was_here(");
    ASSERT_TRUE(write_file_atomic(numbers, text));

    const KernelSource source{"some/act.fact",
                              "kernel act(x: f32[M]) -> (y: f32[M]) {\n"
                              "  h = x + 1.0\n"
                              "  y = softplus(h)\n"
                              "}\n"};
    const auto artifact =
        build(source, emitted(source), toolchain, folder.path() / "store", folder.path() / "out");
    ASSERT_FALSE(artifact);
    EXPECT_NE(artifact.error().message.find("act.fact:3: error: "), std::string::npos)
        << artifact.error().message;
    EXPECT_NE(artifact.error().message.find("  3 | y = softplus(h)\n"), std::string::npos)
        << artifact.error().message;
}

}  // namespace
}  // namespace fact::tools
