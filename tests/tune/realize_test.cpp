#include "tune/realize.h"

#include <gtest/gtest.h>

#include "stand_ins.h"

namespace fact::tune {
namespace {

using verify::Outcome;

class Realize : public StandIns {
  protected:
    void SetUp() override {
        StandIns::SetUp();
        pattern_.kernel =
            "kernel linear(x: bf16[M, K], w: bf16[N, K], b: bf16[N]) -> (y: bf16[M, N]) {\n"
            "  acc = x @ w.T\n"
            "  y = relu(acc + b)\n"
            "}\n";
        pattern_.problem.m = 4096;
        pattern_.problem.n = 3072;
        pattern_.problem.k = 768;
    }
    Realization realized_text() {
        auto r = realize(pattern_, options_);
        EXPECT_TRUE(r.ok()) << r.error().text();
        return r ? *r : Realization{};
    }
    fs::path fault(const char* name) const {
        return fs::path(FACT_SOURCE_DIR) / "tests" / "gpu" / "faults" / name;
    }
};

TEST_F(Realize, TriesEveryScheduleOnAGpu) {
    const auto r = realized_text();
    EXPECT_TRUE(r.realized) << r.why;
    EXPECT_GT(r.candidates.size(), 4u);
    for (const auto& c : r.candidates) EXPECT_EQ(c.outcome, Outcome::passed) << c.why;
    // All equally fast: the one the table names first.
    EXPECT_EQ(r.winner, "s00");
    EXPECT_EQ(r.kernel, "linear");
    EXPECT_EQ(r.precision, "bf16");
    EXPECT_TRUE(launch_record_from_json(*read_file(r.folder / "record.json")).ok());

    options_.max_candidates = 2;
    EXPECT_EQ(realized_text().candidates.size(), 2u);
}

TEST_F(Realize, FaultsAmongTheCandidatesWithoutAGpu) {
    options_.device = "cpu";
    options_.also = {fault("hang.cu"), fault("crash.cu"), fault("wrong.cu")};
    const auto r = realized_text();
    ASSERT_EQ(r.candidates.size(), 4u);
    EXPECT_EQ(r.candidates[0].outcome, Outcome::timed_out);
    EXPECT_EQ(r.candidates[1].outcome, Outcome::crashed);
    EXPECT_EQ(r.candidates[2].outcome, Outcome::incorrect);
    EXPECT_EQ(r.candidates[3].outcome, Outcome::passed);
    EXPECT_EQ(r.winner, "s00");
}

TEST_F(Realize, UnverifiableFilesNeverWin) {
    options_.device = "cpu";
    const fs::path file = folder_.path() / "mine.cu";
    ASSERT_TRUE(write_file_atomic(file, "// behave:passed 1\n").ok());
    options_.also = {file};
    const auto r = realized_text();
    ASSERT_EQ(r.candidates.size(), 2u);
    EXPECT_EQ(r.candidates[0].outcome, Outcome::unsupported);
    EXPECT_EQ(r.winner, "s00");
}

TEST_F(Realize, AResultSaysWhetherAFileWon) {
    const fs::path file = folder_.path() / "mine.cu";
    ASSERT_TRUE(write_file_atomic(file, "// behave:passed 50\n").ok());
    options_.also = {file};
    const auto r = realized_text();
    EXPECT_EQ(r.winner, "mine");
    EXPECT_TRUE(r.from_file);
    // Results of earlier versions say it by what they do not spell.
    auto text = to_json(r);
    const std::string line = "  \"from_file\": true,\n";
    ASSERT_NE(text.find(line), text.npos);
    EXPECT_TRUE(realization_from_json(text.erase(text.find(line), line.size()))->from_file);
    options_.also.clear();
    EXPECT_FALSE(realized_text().from_file);
}

// Kernels in TF32 behave as a file says, others are right.
class InTf32 : public Realize {
  protected:
    void SetUp() override {
        Realize::SetUp();
        pattern_.kernel =
            "kernel linear(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) {\n"
            "  y = matmul(x, w.T, precision: tf32)\n"
            "}\n";
        options_.precision.tf32 = Tf32(true);
        options_.max_candidates = 2;
        const fs::path behaviour = folder_.path() / "rounded";
        ASSERT_TRUE(write_file_atomic(options_.toolchain.nvcc,
                                      "#!/bin/sh\n"
                                      "cp kernel.cu kernel.cubin\n"
                                      "grep -q MainloopTf32 kernel.cu || exit 0\n"
                                      "echo \"// behave:$(cat " +
                                          behaviour.string() + ")\" > kernel.cubin\n")
                        .ok());
        fs::permissions(options_.toolchain.nvcc, fs::perms::owner_all);
        rounded("incorrect");
    }
    void rounded(const std::string& behaviour) {
        ASSERT_TRUE(write_file_atomic(folder_.path() / "rounded", behaviour).ok());
    }
};

TEST_F(InTf32, IsTriedExactlyIfAllItsKernelsAreWrong) {
    const auto r = realized_text();
    EXPECT_TRUE(r.realized) << r.why;
    EXPECT_TRUE(r.exact_instead);
    EXPECT_NE(r.precision, "tf32");
    EXPECT_EQ(precision_text(r), r.precision + " for tf32");
    const auto text = read_file(r.folder / "kernel.fact");
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->find("tf32"), text->npos) << *text;
    const auto kept = realization_from_json(*read_file(r.folder / "result.json"));
    ASSERT_TRUE(kept.ok());
    EXPECT_TRUE(kept->exact_instead);

    const long measured = asked("candidate");
    const auto again = realized_text();
    EXPECT_TRUE(again.resumed);
    EXPECT_TRUE(again.exact_instead);
    EXPECT_EQ(asked("candidate"), measured);
}

TEST_F(InTf32, StaysIfOneIsRight) {
    rounded("passed 90");
    const auto r = realized_text();
    EXPECT_TRUE(r.realized) << r.why;
    EXPECT_FALSE(r.exact_instead);
    EXPECT_EQ(r.precision, "tf32");
    EXPECT_EQ(precision_text(r), "tf32");
}

TEST_F(InTf32, StaysIfItsKernelsCrash) {
    rounded("crash");
    const auto r = realized_text();
    EXPECT_FALSE(r.realized);
    EXPECT_FALSE(r.exact_instead);
}

TEST_F(Realize, WrongTextNamesTheLine) {
    pattern_.kernel = "kernel linear(x: bf16[M, K]) -> (y: bf16[M, N]) {\n  y = x @ missing.T\n}\n";
    const auto r = realized_text();
    EXPECT_FALSE(r.realized);
    EXPECT_NE(r.why.find("linear_0:2:"), std::string::npos) << r.why;
}

TEST_F(Realize, MissingFileIsAnError) {
    options_.also = {"/no/such/file.cu"};
    EXPECT_FALSE(realize(pattern_, options_).ok());
}

TEST_F(Realize, AnExceptionCostsItsFamilyOnly) {
    options_.status = [](std::string_view) { throw std::out_of_range("planted"); };
    const auto r = realized_text();
    EXPECT_FALSE(r.realized);
    EXPECT_EQ(r.why, "a defect of FACT, please report it: planted");
    const auto kept = realization_from_json(*read_file(r.folder / "result.json"));
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(kept->why, r.why);
    options_.status = {};
    EXPECT_TRUE(realized_text().realized);
}

}  // namespace
}  // namespace fact::tune
