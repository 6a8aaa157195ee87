#include "driver/run_folder.h"

#include <gtest/gtest.h>

#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, RemembersItsSettings) {
    const TemporaryFolder folder(fs::temp_directory_path(), "fact-run-test");
    const RunFolder run(folder.path() / "run");
    EXPECT_EQ(*run.settings(), Settings{});
    const Settings settings{"model.py", "bf16", "sm90a", true};
    ASSERT_TRUE(run.remember(settings));
    EXPECT_EQ(*run.settings(), settings);
}

TEST(RunFolder, RemembersHowItWasAsked) {
    const TemporaryFolder folder(fs::temp_directory_path(), "fact-run-test");
    const RunFolder run(folder.path());
    EXPECT_FALSE(run.asked()->has_value());
    ASSERT_TRUE(run.remember({"model.py", "bf16"}));
    EXPECT_FALSE(run.asked()->has_value());
    const Asked asked{"/models", "/packages/one", {8, 60, false}, 2, {"/mine.cu"}, false, false};
    ASSERT_TRUE(run.remember({"model.py", "bf16"}, asked));
    EXPECT_EQ(**run.asked(), asked);
    EXPECT_EQ(run.settings()->source, "model.py");
    ASSERT_TRUE(write_file_atomic(folder.path() / "run.json", R"({"optimize": {"effort": "x"}})"));
    EXPECT_FALSE(run.asked());
}

TEST(RunFolder, ADamagedSettingsFileIsAnErrorNotACrash) {
    const TemporaryFolder folder(fs::temp_directory_path(), "fact-run-test");
    for (const auto* text : {"", "{", "[]", "{\"source\": 3}", "{\"arch\": []}"}) {
        ASSERT_TRUE(write_file_atomic(folder.path() / "run.json", text));
        EXPECT_FALSE(RunFolder(folder.path()).settings()) << text;
    }
}

TEST(RunFolder, AStampHoldsForItsInputsOnly) {
    const TemporaryFolder folder(fs::temp_directory_path(), "fact-run-test");
    const RunFolder run(folder.path());
    EXPECT_FALSE(run.current("trace", "a"));
    ASSERT_TRUE(run.stamp("trace", "a"));
    EXPECT_TRUE(run.current("trace", "a"));
    EXPECT_FALSE(run.current("trace", "b"));
    EXPECT_FALSE(run.current("bench", "a"));
}

TEST(RunFolder, TheSameRequestFindsTheSameFolder) {
    const Settings settings{"examples/block.py", "", "sm90a", false};
    auto spelled = settings;
    spelled.source = "./examples/../examples/block.py";
    EXPECT_EQ(default_run_folder(settings), default_run_folder(spelled));
    auto other = settings;
    other.dtype = "bf16";
    EXPECT_NE(default_run_folder(settings), default_run_folder(other));
    EXPECT_TRUE(default_run_folder(settings).string().starts_with(".fact/runs/block-"));
    const Settings factory{"examples.products:square", "", "sm90a", false};
    EXPECT_TRUE(default_run_folder(factory).string().starts_with(".fact/runs/square-"));
}

}  // namespace
}  // namespace fact::driver
