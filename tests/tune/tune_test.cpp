#include <gtest/gtest.h>

#include <algorithm>

#include "stand_ins.h"
#include "tune/family_files.h"

namespace fact::tune {
namespace {

using verify::Outcome;

LaunchRecord record(const std::string& schedule) {
    LaunchRecord r;
    r.kernel = "linear";
    r.arch = "sm90a";
    r.schedule = schedule;
    r.precision = "bf16";
    Launch prepare, product;
    prepare.entry = "linear_split";
    product.entry = "linear";
    for (Launch* launch : {&prepare, &product}) {
        launch->block = 128;
        launch->grid = LinearGrid{};
    }
    r.launches = {prepare, product};
    return r;
}

// A stand-in compiler copies the source, and a stand-in worker does what it says.
Candidate candidate(const std::string& name, const std::string& behaviour) {
    Candidate c;
    c.name = name;
    c.schedule = "tile of " + name;
    c.source = "// behave:" + behaviour + "\n";
    c.record = record(c.schedule);
    return c;
}

using Tune = StandIns;

TEST_F(Tune, BadCandidatesCostOnlyThemselves) {
    Candidate refused = candidate("s05", "passed 20");
    refused.unsupported = "the tile does not fit";
    const auto r = realized({candidate("hang", "hang"), candidate("crash", "crash"),
                             candidate("wrong", "incorrect"), candidate("garbage", "garbage"),
                             candidate("s00", "passed 90"), candidate("s01", "passed 70"),
                             candidate("s02", "passed 80"), candidate("s03", "uncompilable"),
                             candidate("cheat", "passed 5"), refused});
    std::vector<Outcome> outcomes;
    for (const auto& c : r.candidates) outcomes.push_back(c.outcome);
    EXPECT_EQ(outcomes,
              (std::vector{Outcome::timed_out, Outcome::crashed, Outcome::incorrect,
                           Outcome::crashed, Outcome::passed, Outcome::passed, Outcome::passed,
                           Outcome::failed_to_build, Outcome::incorrect, Outcome::unsupported}));
    EXPECT_EQ(r.candidates[0].why, "no answer in 2 s: the worker was killed");
    EXPECT_NE(r.candidates[1].why.find("illegal memory access"), std::string::npos);
    EXPECT_EQ(r.candidates[2].why, "NaN in output 0");
    EXPECT_NE(r.candidates[7].why.find("kernel.cu(1): error: bad"), std::string::npos);
    EXPECT_NE(r.candidates[8].why.find("cannot have done the work"), std::string::npos);
    EXPECT_EQ(summary(r.candidates),
              "10 candidates: 3 passed, 2 incorrect, 1 failed to build, 1 timed out, 2 crashed, 1 "
              "unsupported");

    EXPECT_TRUE(r.realized);
    EXPECT_TRUE(r.measured);
    EXPECT_EQ(r.winner, "s01");
    EXPECT_EQ(r.schedule, "tile of s01");
    EXPECT_EQ(r.single.median_us, 70);
    EXPECT_EQ(r.sustained.median_us, 73);
    EXPECT_EQ(r.baseline_sustained.median_us, 110);
    EXPECT_EQ(r.text_checks.size(), 1u);
    // For the text, on the GPU, and once more after each of hang, crash and garbage.
    EXPECT_EQ(asked("open"), 5);
    EXPECT_EQ(asked("close"), 1);

    EXPECT_EQ(*read_file(r.folder / "kernel.cubin"), "// behave:passed 70\n");
    EXPECT_EQ(*read_file(r.folder / "kernel.fact"), pattern_.kernel);
    auto kept = launch_record_from_json(*read_file(r.folder / "record.json"));
    ASSERT_TRUE(kept.ok()) << kept.error().text();
    EXPECT_EQ(*kept, record("tile of s01"));
    const auto journal = *read_file(options_.run_folder / "journal.jsonl");
    // One line a candidate, and one more for the contender that was timed sustained.
    EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 11);
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(r.folder))
        left.push_back(entry.path().filename());
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, (std::vector<std::string>{"kernel.cu", "kernel.cubin", "kernel.fact",
                                              "record.json", "result.json"}));
}

TEST_F(Tune, FinishedWorkIsNotDoneAgain) {
    const std::vector<Candidate> candidates{candidate("s00", "passed 90"),
                                            candidate("s01", "passed 70")};
    const auto first = realized(candidates);
    const long asked_first = asked("open");
    const auto again = realized(candidates);
    EXPECT_FALSE(first.resumed);
    EXPECT_TRUE(again.resumed);
    EXPECT_EQ(asked("open"), asked_first);
    EXPECT_EQ(again.winner, "s01");
    EXPECT_EQ(again.folder, first.folder);
    EXPECT_EQ(to_json(again), to_json(first));

    // Another GPU, a lost file, another candidate: each is new work.
    options_.device_name = "another GPU";
    EXPECT_FALSE(realized(candidates).resumed);
    fs::remove(first.folder / "kernel.cubin");
    EXPECT_FALSE(realized(candidates).resumed);
    EXPECT_TRUE(realized(candidates).resumed);
    const auto more = realized({candidates[0], candidates[1], candidate("s02", "passed 60")});
    EXPECT_FALSE(more.resumed);
    EXPECT_EQ(more.winner, "s02");
    EXPECT_TRUE(more.candidates[0].cached);
}

TEST_F(Tune, DamagedFilesOfARunAreMadeAgain) {
    const std::vector<Candidate> candidates{candidate("s00", "passed 90")};
    const auto first = realized(candidates);
    for (const char* name : {"kernel.cubin", "kernel.cu", "kernel.fact", "record.json"}) {
        const fs::path file = first.folder / name;
        const std::string whole = *read_file(file);
        for (std::string damaged : {whole.substr(0, whole.size() / 2), whole + " "}) {
            ASSERT_TRUE(write_file_atomic(file, damaged).ok());
            EXPECT_NE(damage(first).find(name), std::string::npos) << damage(first);
            const auto again = realized(candidates);
            EXPECT_FALSE(again.resumed) << name;
            EXPECT_EQ(*read_file(file), whole) << name;
            EXPECT_EQ(damage(again), "");
        }
    }
    EXPECT_TRUE(realized(candidates).resumed);
    // The store's own, damaged between the proof and the copy, never gets there.
    const fs::path cubin =
        options_.store / first.candidates[0].compile_key.substr(0, 32) / "kernel.cubin";
    ASSERT_TRUE(fs::exists(cubin));
    jit::Artifact proven;
    proven.cubin = cubin;
    proven.sha256 = first.files.at("kernel.cubin");
    Realization r = first;
    EXPECT_TRUE(write_family_files(r, Winner{candidates[0], proven}).ok());
    ASSERT_TRUE(write_file_atomic(cubin, "// behave:passed 1\n").ok());
    const auto kept = write_family_files(r, Winner{candidates[0], proven});
    ASSERT_FALSE(kept.ok());
    EXPECT_NE(kept.error().message.find("was changed while it was in use"), std::string::npos);
}

TEST_F(Tune, AResultOfOtherHeadersIsNotBelieved) {
    const fs::path header = folder_.path() / "cuda.h", nvcc = options_.toolchain.nvcc;
    ASSERT_TRUE(write_file_atomic(header, "one\n").ok());
    ASSERT_TRUE(write_file_atomic(nvcc, *read_file(nvcc) + "echo 'x : kernel.cu " +
                                            header.string() + "' > headers.d\n")
                    .ok());
    fs::permissions(nvcc, fs::perms::owner_all);
    const std::vector<Candidate> candidates{candidate("s00", "passed 90")};
    EXPECT_FALSE(realized(candidates).resumed);
    EXPECT_TRUE(realized(candidates).resumed);
    ASSERT_TRUE(write_file_atomic(header, "two\n").ok());
    const auto again = realized(candidates);
    EXPECT_FALSE(again.resumed);
    EXPECT_FALSE(again.candidates[0].cached);
    EXPECT_TRUE(realized(candidates).resumed);
}

TEST_F(Tune, WinnerThatFailsWhenHotGivesWay) {
    const auto r = realized({candidate("s00", "passed 90"), candidate("s01", "fluke 70")});
    EXPECT_EQ(r.winner, "s00");
    EXPECT_EQ(r.candidates[1].outcome, Outcome::incorrect);
    EXPECT_EQ(r.candidates[1].why, "wrong when hot");
}

TEST_F(Tune, FamilyWithoutAKernelSaysWhy) {
    const auto r = realized({candidate("s00", "incorrect"), candidate("s01", "crash")});
    EXPECT_FALSE(r.realized);
    EXPECT_EQ(r.why, "2 candidates: 1 incorrect, 1 crashed; s00: NaN in output 0");
    EXPECT_FALSE(fs::exists(r.folder / "kernel.cubin"));
    // A later run tries again.
    EXPECT_FALSE(realized({candidate("s00", "incorrect"), candidate("s01", "crash")}).resumed);
}

TEST_F(Tune, StopsWhereNothingBetterIsToCome) {
    options_.stop_early = true;
    std::vector<Candidate> candidates;
    for (int i = 0; i < 12; ++i) {
        // The ninth is the best, and the model knows nothing of that.
        candidates.push_back(
            candidate("s" + std::to_string(i), "passed " + std::to_string(i == 8 ? 60 : 90 + i)));
        candidates.back().expected_us = 80 + i;
    }
    const auto r = realized(candidates);
    EXPECT_EQ(r.winner, "s0");
    EXPECT_EQ(r.stopped, "the model expects a gain of less than 1 %");
    EXPECT_EQ(r.candidates[7].outcome, Outcome::passed);
    EXPECT_EQ(r.candidates[8].outcome, Outcome::untried);
    EXPECT_EQ(r.candidates[8].why, r.stopped);
    EXPECT_TRUE(r.candidates[8].compile_key.empty()) << "nor is it compiled";
    // Eight briefly, three contenders once more, the winner in full.
    EXPECT_EQ(r.measurements, 12);

    options_.stop_early = false;
    options_.device_name = "another GPU";
    EXPECT_EQ(realized(candidates).winner, "s8");
    // A bound that is nearly reached ends it soon.
    options_.stop_early = true;
    options_.device_name = "a third GPU";
    pattern_.cost.bound_us = 88;
    const auto near = realized(candidates);
    // Two briefly, both once more, the winner in full.
    EXPECT_EQ(near.measurements, 5);
    EXPECT_NE(near.stopped.find("within 5 % of the bound"), std::string::npos);
}

TEST_F(Tune, ABudgetEndsWithTheBestSoFar) {
    options_.budget = Seconds(0);
    const auto r = realized({candidate("s00", "incorrect"), candidate("s01", "passed 90"),
                             candidate("s02", "passed 70")});
    EXPECT_EQ(r.winner, "s01");
    EXPECT_EQ(r.stopped, "its time budget was used up");
    EXPECT_EQ(r.candidates[2].outcome, Outcome::untried);
}

TEST_F(Tune, WrongTextIsNotCompiled) {
    options_.device = "cpu";
    setenv("FAKE_OPEN", "wrong-text", 1);
    const auto r = realized({candidate("s00", "passed 90")});
    EXPECT_FALSE(r.realized);
    EXPECT_EQ(r.why,
              "the kernel text does not compute what the module does (normal, seed 1): off by 2");
    EXPECT_FALSE(fs::exists(options_.store));
}

TEST_F(Tune, CallThatCannotBePreparedCostsItsFamily) {
    setenv("FAKE_OPEN", "error", 1);
    EXPECT_NE(realized({candidate("s00", "passed 90")}).why.find("no such operator"),
              std::string::npos);
    setenv("FAKE_OPEN", "die", 1);
    EXPECT_NE(realized({candidate("s00", "passed 90")}).why.find("it ended with status 3"),
              std::string::npos);
}

TEST_F(Tune, WithoutAGpuTheFirstThatPassesIsKept) {
    options_.device = "cpu";
    Candidate hang = candidate("hang", "passed"), wrong = candidate("wrong", "passed");
    hang.fault = "hang";
    wrong.fault = "wrong";
    const auto r = realized({hang, wrong, candidate("s00", "passed"), candidate("s01", "passed")});
    EXPECT_TRUE(r.realized);
    EXPECT_FALSE(r.measured);
    EXPECT_EQ(r.winner, "s00");
    EXPECT_EQ(r.candidates[0].outcome, Outcome::timed_out);
    EXPECT_EQ(r.candidates[1].outcome, Outcome::incorrect);
    // Nothing to heat: no sustained measurement.
    EXPECT_EQ(asked("candidate"), 4);
}

TEST_F(Tune, MissingWorkerIsAnError) {
    options_.worker = "/no/such/worker";
    auto r = realize_candidates(pattern_, {candidate("s00", "passed 90")}, options_);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().message, "/no/such/worker is not a program that can be run");
}

CandidateResult timed(double median, double spread, Outcome outcome = Outcome::passed) {
    CandidateResult result;
    result.outcome = outcome;
    result.single = {median, median - spread, median + spread, 20};
    return result;
}

TEST(BestOf, TiesGoToTheEarlier) {
    EXPECT_EQ(best_of({}), -1);
    EXPECT_EQ(best_of({timed(50, 1, Outcome::incorrect)}), -1);
    EXPECT_EQ(best_of({timed(100, 1), timed(50, 1, Outcome::incorrect), timed(80, 1)}), 2);
    EXPECT_EQ(best_of({timed(100.3, 1), timed(100, 1)}), 0);
    EXPECT_EQ(best_of({timed(100.3, 0.1), timed(100, 0.1)}), 1);
    // A wide spread is noise, not a reason to take a slower kernel.
    EXPECT_EQ(best_of({timed(103, 10), timed(100, 10)}), 1);
}

CandidateResult sustained_at(double single, double sustained) {
    CandidateResult result = timed(single, 0.1);
    result.baseline_single = {100, 99, 101, 20};
    result.baseline_sustained = {110, 109, 111, 5};
    if (sustained > 0) result.sustained = {sustained, sustained - 1, sustained + 1, 5};
    return result;
}

TEST(BestOf, AHotGpuMayTurnTheOrder) {
    EXPECT_EQ(best_of({sustained_at(97, 113), sustained_at(100, 104)}), 1);
    EXPECT_EQ(best_of({sustained_at(97, 105), sustained_at(100, 104)}), 0);
    // One that nobody timed sustained is no contender any more.
    EXPECT_EQ(best_of({sustained_at(90, 0), sustained_at(100, 104)}), 1);
}

CandidateResult fetching(double median, double fetched) {
    CandidateResult result = timed(median, 0.1);
    result.fetched = fetched;
    return result;
}

TEST(BestOf, OfLongLaunchesNearlyAsFastTheOneThatFetchesLeast) {
    EXPECT_EQ(best_of({fetching(1000, 0.012), fetching(1025, 0.008), fetching(1020, 0.008)}), 2);
    EXPECT_EQ(best_of({fetching(1000, 0.012), fetching(1040, 0.008)}), 0);
    EXPECT_EQ(best_of({fetching(100, 0.012), fetching(102, 0.008)}), 0);
    // One of which nothing is known never wins by that.
    EXPECT_EQ(best_of({fetching(1025, 0), fetching(1000, 0.012), fetching(1020, 0.008)}), 2);
    EXPECT_EQ(best_of({fetching(1000, 0), fetching(1020, 0.008)}), 0);
}

TEST(Contenders, OneOfLongLaunchesFetchesLeast) {
    std::vector<CandidateResult> results{fetching(1000, 0.012), fetching(1010, 0.012),
                                         fetching(1020, 0.016), fetching(1050, 0.008)};
    EXPECT_EQ(contenders(results, 2), (std::vector<int>{0, 3}));
    results.back() = fetching(1070, 0.008);
    EXPECT_EQ(contenders(results, 2), (std::vector<int>{0, 1}));
    results.back() = fetching(1050, 0);
    EXPECT_EQ(contenders(results, 2), (std::vector<int>{0, 1}));
}

TEST(Contenders, AreTheFewNearTheBest) {
    const std::vector<CandidateResult> results{sustained_at(103, 0),           sustained_at(90, 0),
                                               timed(80, 1, Outcome::crashed), sustained_at(94, 0),
                                               sustained_at(90, 91),           sustained_at(92, 0)};
    EXPECT_EQ(contenders(results, 4), (std::vector<int>{1, 5, 3}));
    EXPECT_EQ(contenders(results, 2), (std::vector<int>{1, 5}));
    EXPECT_TRUE(contenders({}, 4).empty());
}

}  // namespace
}  // namespace fact::tune
