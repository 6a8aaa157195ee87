#include "support/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "held_by_child.h"
#include "support/files.h"

namespace fact {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public testing::Test {
  protected:
    FileLockTest() : folder_(fs::temp_directory_path(), "fact-lock-test") {}
    fs::path file() const { return folder_.path() / ".lock"; }

    pid_t holder(int for_ms) const {
        return held_by_child([&] { return FileLock::take(file(), "the folder"); }, for_ms);
    }

    TemporaryFolder folder_;
};

TEST_F(FileLockTest, IsGivenBackWithoutATrace) {
    {
        const auto lock = FileLock::take(file(), "the folder");
        ASSERT_TRUE(lock) << lock.error().text();
        EXPECT_EQ(*read_file(file()), std::to_string(::getpid()) + "\n");
    }
    EXPECT_FALSE(fs::exists(file()));
    EXPECT_TRUE(FileLock::take(file(), "the folder"));
}

TEST_F(FileLockTest, TheSecondWaitsAndSaysForWhom) {
    const pid_t other = holder(300);
    testing::internal::CaptureStderr();
    const auto started = std::chrono::steady_clock::now();
    const auto lock = FileLock::take(file(), "the folder");
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - started;
    const auto said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(lock) << lock.error().text();
    EXPECT_GT(waited.count(), 0.1);
    EXPECT_EQ(said,
              "waiting for process " + std::to_string(other) + " to finish with the folder\n");
    ::waitpid(other, nullptr, 0);
}

TEST_F(FileLockTest, GoesWithItsProcess) {
    const pid_t other = holder(60'000);
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    EXPECT_TRUE(fs::exists(file()));  // a file that is left is no lock
    testing::internal::CaptureStderr();
    EXPECT_TRUE(FileLock::take(file(), "the folder"));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(FileLockTest, OneAtATime) {
    const auto inside = folder_.path() / "inside";
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        children.push_back(::fork());
        if (children.back() != 0) continue;
        int failures = 0;
        for (int round = 0; round < 5; ++round) {
            const auto lock = FileLock::take(file(), "the folder");
            // Fails where another process is inside.
            failures += !lock || !fs::create_directory(inside) || !fs::remove(inside);
        }
        ::_exit(failures);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
}

TEST_F(FileLockTest, AFolderThatIsNotThere) {
    const auto lock = FileLock::take(folder_.path() / "none" / ".lock", "none");
    ASSERT_FALSE(lock);
    EXPECT_NE(lock.error().message.find("cannot lock"), std::string::npos);
}

}  // namespace
}  // namespace fact
