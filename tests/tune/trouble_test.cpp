// What the world does to a run: memory, disks, compilers and GPUs that fail it.
#include <gtest/gtest.h>

#include "stand_ins.h"
#include "tune/gpu_gone.h"
#include "tune/journal.h"

namespace fact::tune {
namespace {

using verify::Finding;
using verify::Outcome;

class Trouble : public StandIns {
  protected:
    void TearDown() override { unsetenv("FACT_WORKER_MEMORY"); }
    Result<Realization> tried(const std::vector<Candidate>& candidates) {
        return realize_candidates(pattern_, candidates, options_);
    }
};

TEST_F(Trouble, AWorkerThatGrowsIsKilled) {
    setenv("FACT_WORKER_MEMORY", "0.15", 1);
    options_.deadlines.measure = Seconds(30.0);
    const auto r = realized({behaving("grow", "grow"), behaving("s00", "passed 90")});
    EXPECT_EQ(r.candidates[0].outcome, Outcome::crashed);
    EXPECT_EQ(r.candidates[0].finding, Finding::too_much_memory);
    EXPECT_EQ(r.candidates[0].why,
              "used too much memory: more than 154 MiB, so the worker was killed");
    EXPECT_EQ(r.winner, "s00");
    const auto read = realization_from_json(*read_file(r.folder / "result.json"));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->candidates[0].finding, Finding::too_much_memory);
    EXPECT_NE(read_file(options_.run_folder / "journal.jsonl")->find("used too much memory"),
              std::string::npos);

    setenv("FACT_WORKER_MEMORY", "much", 1);
    const auto senseless = realized({behaving("s01", "passed 90")});
    EXPECT_FALSE(senseless.realized);
    EXPECT_NE(senseless.why.find("FACT_WORKER_MEMORY is 'much'"), std::string::npos);
}

TEST_F(Trouble, AGpuThatDisappearsEndsTheRunAndLosesNothing) {
    const std::vector<Candidate> candidates{behaving("s00", "passed 90"), behaving("s01", "unplug"),
                                            behaving("s02", "passed 70")};
    const auto gone = tried(candidates);
    ASSERT_FALSE(gone.ok());
    EXPECT_TRUE(gone.error().message.starts_with("the GPU is gone: ")) << gone.error().text();
    EXPECT_NE(gone.error().hint.find("run the same command again"), std::string::npos);
    const auto journal = *read_file(options_.run_folder / "journal.jsonl");
    EXPECT_NE(journal.find("\"name\":\"s00\""), std::string::npos);
    EXPECT_NE(journal.find("\"name\":\"s01\""), std::string::npos);
    EXPECT_FALSE(fs::exists(options_.run_folder / "kernels" / pattern_.family / "result.json"));

    // Still gone for the next family: an error, not a family without a kernel.
    pattern_.family = "linear_1";
    EXPECT_FALSE(tried({behaving("s00", "passed 90")}).ok());

    // Back again: the same command goes on.
    pattern_.family = "linear_0";
    fs::remove(log().string() + ".unplugged");
    const auto r = realized({candidates[0], candidates[2]});
    EXPECT_EQ(r.winner, "s02");
    EXPECT_TRUE(r.candidates[0].cached);
}

TEST(GpuGone, IsToldFromACrash) {
    for (const char* gone :
         {"CUDA error: no CUDA-capable device is detected", "torch sees no GPU here",
          "cuInit: CUDA_ERROR_NO_DEVICE", "CUDA-capable device(s) is/are busy or unavailable",
          "uncorrectable ECC error encountered"})
        EXPECT_TRUE(says_gpu_is_gone(gone)) << gone;
    for (const char* crash : {"CUDA error: an illegal memory access was encountered",
                              "unspecified launch failure", "CUDA out of memory", ""})
        EXPECT_FALSE(says_gpu_is_gone(crash)) << crash;
}

TEST_F(Trouble, ACompilerThatVanishesFailsItsCandidates) {
    realized({behaving("s00", "passed 90")});
    fs::remove(options_.toolchain.nvcc);
    const auto r = realized({behaving("s00", "passed 90"), behaving("s01", "passed 70")});
    // What was compiled before still serves.
    EXPECT_EQ(r.winner, "s00");
    EXPECT_EQ(r.candidates[1].outcome, Outcome::failed_to_build);
    EXPECT_NE(r.candidates[1].why.find("cannot start"), std::string::npos) << r.candidates[1].why;
    EXPECT_NE(r.candidates[1].why.find("No such file"), std::string::npos);
}

TEST_F(Trouble, AJournalOnAFullDiskIsAnError) {
    fs::create_directories(options_.run_folder);
    fs::create_symlink("/dev/full", options_.run_folder / "journal.jsonl");
    const auto r = tried({behaving("s00", "passed 90")});
    ASSERT_FALSE(r.ok());
    EXPECT_NE(r.error().message.find("no space left on the disk of "), std::string::npos);
    EXPECT_EQ(r.error().hint, "free some space on that disk");
    EXPECT_FALSE(fs::exists(options_.run_folder / "kernels" / pattern_.family / "result.json"));
}

}  // namespace
}  // namespace fact::tune
