#include "driver/runs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/memo.h"
#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

class Runs : public testing::Test {
  protected:
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-runs-test"};
    RunFolder run_{folder_.path() / "one"};
};

TEST_F(Runs, AStateFollowsTheStages) {
    EXPECT_FALSE(run_state(run_));
    {
        RunWatch watch(run_, "NVIDIA H200");
        watch.enter("trace");
        watch.enter("realize");
        const auto state = run_state(run_);
        ASSERT_TRUE(state);
        EXPECT_EQ(state->stage, "realize");
        EXPECT_EQ(state->state, "running");
        EXPECT_EQ(state->device, "NVIDIA H200");
        watch.finish();
    }
    EXPECT_EQ(run_state(run_)->state, "finished");
    {
        RunWatch watch(run_, "");
        watch.enter("bench");
        EXPECT_EQ(watch.failed({"no memory", "buy some"}).hint, "buy some");
    }
    EXPECT_EQ(run_state(run_)->state, "failed");
    EXPECT_EQ(run_state(run_)->why, "no memory");
    ASSERT_TRUE(write_file_atomic(run_.path() / "state.json", "{torn"));
    EXPECT_FALSE(run_state(run_));
}

TEST_F(Runs, AProcessThatIsGoneWasInterrupted) {
    const pid_t child = ::fork();
    if (child == 0) {
        RunWatch watch(run_, "");
        watch.enter("compose");
        ::_exit(0);  // as a kill would: nothing is tidied up
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(run_state(run_)->state, "interrupted");
    ASSERT_TRUE(run_.remember({"model.py", ""}));
    EXPECT_EQ(summarize_run(run_.path())->progress(), "interrupted in compose");
}

TEST_F(Runs, OlderRunsAreToldByTheirFiles) {
    ASSERT_TRUE(run_.remember({"model.py", ""}));
    EXPECT_EQ(summarize_run(run_.path())->progress(), "nothing done");
    ASSERT_TRUE(write_file_atomic(run_.archive(), ""));
    EXPECT_EQ(summarize_run(run_.path())->progress(), "interrupted in trace");
    ASSERT_TRUE(write_file_atomic(run_.path() / "report.json", "{}"));
    EXPECT_EQ(summarize_run(run_.path())->progress(), "finished");
}

TEST_F(Runs, ListsRunsAndNothingElse) {
    const RunFolder other(folder_.path() / "other"), torn(folder_.path() / "torn");
    ASSERT_TRUE(run_.remember({"one.py", ""}));
    ASSERT_TRUE(other.remember({"other.py", ""}));
    RunWatch(other, "").enter("trace");  // the later one
    ASSERT_TRUE(write_file_atomic(torn.path() / "run.json", "{"));
    fs::create_directories(folder_.path() / "no run");
    const auto runs = list_runs(folder_.path());
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0].settings.source, "other.py");
    EXPECT_EQ(runs[1].settings.source, "one.py");
    EXPECT_EQ(runs[2].progress(), "damaged in run.json");
    EXPECT_FALSE(summarize_run(folder_.path() / "no run"));
}

TEST_F(Runs, ARequestIsWhatWasAsked) {
    ASSERT_TRUE(run_.remember({"model.py", "bf16"}));
    EXPECT_FALSE(request_of(*summarize_run(run_.path())));
    ASSERT_TRUE(run_.remember({"model.py", "bf16"},
                              Asked{"/m", "/p", {8, 60, false}, 2, {"/c.cu"}, false, true}));
    const auto request = request_of(*summarize_run(run_.path()));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->settings.dtype, "bf16");
    EXPECT_EQ(*request->run_dir, run_.path());
    EXPECT_EQ(*request->output, "/p");
    EXPECT_EQ(request->effort.candidates, 8);
    EXPECT_EQ(request->jobs, 2);
    EXPECT_EQ(request->also, std::vector<fs::path>{"/c.cu"});
    EXPECT_FALSE(request->bench);
    EXPECT_TRUE(request->registry);
}

TEST_F(Runs, TheJournalGrowsByLines) {
    fs::create_directories(run_.path());
    ASSERT_TRUE(append_journal(run_, "bench", "{\n \"rows\": []\n}\n"));
    ASSERT_TRUE(append_journal(run_, "choose", "{}"));
    const auto text = *read_file(run_.path() / "journal.jsonl");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    EXPECT_NE(text.find(R"("stage":"bench")"), std::string::npos);
    EXPECT_FALSE(append_journal(RunFolder("/proc/none"), "bench", "{}"));
}

TEST_F(Runs, WhatAMeasurementFollowsFromFindsItAgain) {
    Environment environment;
    environment.store = folder_.path() / "store";
    EXPECT_FALSE(find_memo(environment, "bench", "inputs"));
    ASSERT_TRUE(store_memo(environment, "bench", "inputs", "result"));
    EXPECT_EQ(find_memo(environment, "bench", "inputs"), "result");
    EXPECT_FALSE(find_memo(environment, "bench", "other"));
    EXPECT_FALSE(find_memo(environment, "ablation", "inputs"));
    environment.gpu = gpu::DeviceInfo{};
    environment.gpu->name = "NVIDIA H200";
    EXPECT_FALSE(find_memo(environment, "bench", "inputs"));
    environment.gpu->driver_version = "1";
    ASSERT_TRUE(store_memo(environment, "bench", "inputs", "measured"));
    EXPECT_EQ(find_memo(environment, "bench", "inputs"), "measured");
    environment.gpu->driver_version = "2";
    EXPECT_FALSE(find_memo(environment, "bench", "inputs"));
}

}  // namespace
}  // namespace fact::driver
