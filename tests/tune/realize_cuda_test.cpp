// Kernels written in CUDA: proved on a GPU or not at all.
#include "tune/realize_cuda.h"

#include <gtest/gtest.h>

#include "dsl/cuda_text.h"
#include "stand_ins.h"

namespace fact::tune {
namespace {

using verify::Outcome;

class RealizeCuda : public StandIns {
  protected:
    // A compiler whose result has the entry point that its source has.
    void SetUp() override {
        StandIns::SetUp();
        const auto& nvcc = options_.toolchain.nvcc;
        ASSERT_TRUE(write_file_atomic(nvcc,
                                      "#!/bin/sh\n"
                                      "grep -q uncompilable kernel.cu && "
                                      "{ echo 'kernel.cu(1): error: bad'; exit 1; }\n"
                                      "cp kernel.cu kernel.cubin\n"
                                      "entry=$(sed -n 's/^#define FACT_ENTRY //p' kernel.cu)\n"
                                      "grep -q __global__ kernel.cu && "
                                      "printf '.text.%s\\0' \"$entry\" >>kernel.cubin\n"
                                      "exit 0\n")
                        .ok());
        fs::permissions(nvcc, fs::perms::owner_all);
    }

    Realization realized_on(const std::string& device, const std::string& source) {
        pattern_.kernel = dsl::cuda_text(source,
                                         "kernel k(x: f32[M, N]) -> (y: f32[M, N]) {\n  y = "
                                         "sqrt(-1.0 - index(M) - index(N))\n}\n");
        options_.device = device;
        options_.device_name = device == "cpu" ? "cpu" : "stand-in GPU";
        auto r = realize_cuda(pattern_, source, options_);
        EXPECT_TRUE(r.ok()) << r.error().text();
        return r ? *r : Realization{};
    }
    fs::path kept(const char* file) const {
        return options_.run_folder / "kernels" / pattern_.family / file;
    }
};

constexpr const char* kSource = "// behave:passed 80\nextern \"C\" __global__ void FACT_ENTRY();\n";

TEST_F(RealizeCuda, WhatWasProvedOnAGpuStaysProved) {
    const auto proved = realized_on("cuda", kSource);
    ASSERT_TRUE(proved.realized) << proved.why;
    EXPECT_EQ(proved.schedule, "written in CUDA");
    EXPECT_TRUE(proved.from_file);
    EXPECT_EQ(proved.single.median_us, 80);
    const auto result = *read_file(kept("result.json"));
    const auto opened = asked("open");
    EXPECT_GT(opened, 0);

    for (int turn = 0; turn < 2; ++turn) {
        const auto again = realized_on("cpu", kSource);
        EXPECT_TRUE(again.realized) << again.why;
        EXPECT_TRUE(again.resumed);
        EXPECT_TRUE(again.from_file);
        EXPECT_TRUE(again.measured);
        EXPECT_EQ(again.device, "stand-in GPU");
        EXPECT_EQ(again.winner, proved.winner);
        EXPECT_EQ(again.single, proved.single);
        EXPECT_EQ(again.files, proved.files);
        EXPECT_EQ(again.folder, proved.folder);
        EXPECT_EQ(*read_file(kept("result.json")), result);
    }
    EXPECT_EQ(asked("open"), opened) << "nothing can be proved without a GPU";
    EXPECT_TRUE(realized_on("cuda", kSource).resumed);
    EXPECT_EQ(asked("open"), opened);
}

TEST_F(RealizeCuda, WithoutAGpuItIsCompiledOnly) {
    const auto compiled = realized_on("cpu", kSource);
    EXPECT_FALSE(compiled.realized);
    EXPECT_EQ(compiled.why, "it compiles, and is not verified: there is no GPU");
    ASSERT_EQ(compiled.candidates.size(), 1u);
    EXPECT_EQ(compiled.candidates[0].outcome, Outcome::untried);
    EXPECT_EQ(asked("open"), 0);
    EXPECT_FALSE(fs::exists(kept("kernel.cubin")));
    EXPECT_TRUE(realized_on("cuda", kSource).realized);
}

TEST_F(RealizeCuda, WhatWasChangedSinceIsNotProved) {
    ASSERT_TRUE(realized_on("cuda", kSource).realized);
    ASSERT_TRUE(write_file_atomic(kept("kernel.cubin"), "another"));
    const auto again = realized_on("cpu", kSource);
    EXPECT_FALSE(again.realized);
    EXPECT_EQ(again.candidates.at(0).outcome, Outcome::untried);
}

TEST_F(RealizeCuda, WhatFailedOnAGpuIsNotProvedWithoutOne) {
    const auto wrong =
        realized_on("cuda", "// behave:incorrect\nextern \"C\" __global__ void FACT_ENTRY();\n");
    EXPECT_FALSE(wrong.realized);
    EXPECT_EQ(wrong.candidates.at(0).outcome, Outcome::incorrect);
    const auto again =
        realized_on("cpu", "// behave:incorrect\nextern \"C\" __global__ void FACT_ENTRY();\n");
    EXPECT_FALSE(again.realized);
    EXPECT_EQ(again.candidates.at(0).outcome, Outcome::untried);
}

TEST_F(RealizeCuda, WhatIsNoKernelFailsToBuild) {
    for (const auto* device : {"cpu", "cuda"})
        for (const auto& [source, why] : {std::pair{"uncompilable\n", "error: bad"},
                                          {"void FACT_ENTRY();\n", "has no entry point"}}) {
            const auto r = realized_on(device, source);
            EXPECT_FALSE(r.realized);
            EXPECT_EQ(r.candidates.at(0).outcome, Outcome::failed_to_build);
            EXPECT_NE(r.why.find(why), std::string::npos) << r.why;
        }
    EXPECT_EQ(asked("open"), 0);
}

}  // namespace
}  // namespace fact::tune
