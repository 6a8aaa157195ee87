#include "support/shared_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "held_by_child.h"
#include "support/files.h"

namespace fact {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class SharedLockTest : public testing::Test {
  protected:
    SharedLockTest() : folder_(fs::temp_directory_path(), "fact-shared-test") {}
    fs::path file() const { return folder_.path() / "turn"; }
    Result<SharedLock> take(LockKind kind) const { return SharedLock::take(file(), kind, ""); }

    pid_t holder(LockKind kind, int for_ms) const {
        return held_by_child([&] { return take(kind); }, for_ms);
    }

    TemporaryFolder folder_;
};

TEST_F(SharedLockTest, ManyShareItAndOneHasItAlone) {
    const pid_t first = holder(LockKind::shared, 400);
    auto second = take(LockKind::shared);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_EQ(::waitpid(first, nullptr, WNOHANG), 0) << "the first one has it, too";
    std::atomic<bool> alone = false;
    std::thread third([&] {
        const auto lock = take(LockKind::exclusive);
        alone = lock.ok();
        std::this_thread::sleep_for(milliseconds(200));
        alone = false;
    });
    ::waitpid(first, nullptr, 0);
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_FALSE(alone) << "the second one still has it";
    {
        const SharedLock given_back = std::move(*second);
    }
    while (!alone) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(take(LockKind::shared));
    EXPECT_FALSE(alone);
    third.join();
}

TEST_F(SharedLockTest, WhoWaitsIsNotOvertaken) {
    auto first = take(LockKind::shared);
    ASSERT_TRUE(first);
    std::atomic<int> order = 0, exclusive_at = 0, shared_at = 0;
    std::thread exclusive([&] {
        const auto lock = take(LockKind::exclusive);
        exclusive_at = ++order;
    });
    std::this_thread::sleep_for(milliseconds(100));
    std::thread late([&] {
        const auto lock = take(LockKind::shared);
        shared_at = ++order;
    });
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(order, 0);
    {
        const SharedLock given_back = std::move(*first);
    }
    exclusive.join();
    late.join();
    EXPECT_EQ(exclusive_at, 1);
    EXPECT_EQ(shared_at, 2);
}

// A stream of shared users, none of whom leaves before the next one has come.
TEST_F(SharedLockTest, NobodyWaitsForEver) {
    std::atomic<bool> done = false;
    std::vector<std::thread> users;
    for (int i = 0; i < 4; ++i)
        users.emplace_back([&] {
            while (!done) {
                const auto lock = take(LockKind::shared);
                std::this_thread::sleep_for(milliseconds(20));
            }
        });
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(take(LockKind::exclusive));
    done = true;
    for (auto& user : users) user.join();
}

TEST_F(SharedLockTest, SaysForWhomItWaits) {
    const pid_t other = holder(LockKind::shared, 300);
    testing::internal::CaptureStderr();
    const auto lock = SharedLock::take(file(), LockKind::exclusive, "the GPU");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "waiting for process " + std::to_string(other) + " to finish with the GPU\n");
    EXPECT_TRUE(lock);
    ::waitpid(other, nullptr, 0);
}

TEST_F(SharedLockTest, GoesWithItsProcess) {
    for (const auto kind : {LockKind::shared, LockKind::exclusive}) {
        const pid_t other = holder(kind, 60'000);
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
        EXPECT_TRUE(take(LockKind::exclusive));
    }
}

TEST_F(SharedLockTest, AFolderThatIsNotThere) {
    const auto lock = SharedLock::take(folder_.path() / "none" / "turn", LockKind::shared, "");
    ASSERT_FALSE(lock);
    EXPECT_NE(lock.error().message.find("cannot lock"), std::string::npos);
}

}  // namespace
}  // namespace fact
