#include "tune/gpu_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "stand_ins.h"
#include "tune/gpu_memory.h"

namespace fact::tune {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(100);

TEST(GpuTurn, NobodyIsBesideOneWhoHasItAlone) {
    GpuTurn first("cuda", "first"), second("cuda", "second");
    ASSERT_TRUE(first.take(LockKind::shared));
    ASSERT_TRUE(second.take(LockKind::shared));
    EXPECT_EQ(second.held(), LockKind::shared);
    std::atomic<bool> alone = false;
    std::thread other([&] {
        // It lets go of its own share, or would wait for itself.
        ASSERT_TRUE(second.take(LockKind::exclusive));
        alone = true;
    });
    std::this_thread::sleep_for(kMoment);
    EXPECT_FALSE(alone);
    first.release();
    EXPECT_FALSE(first.held());
    other.join();
    EXPECT_TRUE(alone);
}

TEST(GpuTurn, NobodyWaitsForACpu) {
    GpuTurn first("cpu", ""), second("cpu", "");
    EXPECT_TRUE(first.take(LockKind::exclusive));
    EXPECT_TRUE(second.take(LockKind::exclusive));
    EXPECT_FALSE(second.held());
}

TEST(GpuTurn, AMovedOneKeepsWhatItHas) {
    GpuTurn first("cuda", "");
    ASSERT_TRUE(first.take(LockKind::exclusive));
    GpuTurn second = std::move(first);
    EXPECT_EQ(second.held(), LockKind::exclusive);
    second.release();
    EXPECT_FALSE(second.held());
}

TEST(GpuMemory, HasSharesOfItsSize) {
    EXPECT_EQ(shares_of(1.9, 144), 0);
    EXPECT_EQ(shares_of(2, 144), 1);
    EXPECT_EQ(shares_of(40, 144), 3);
    EXPECT_EQ(shares_of(40, 80), 5);
    EXPECT_EQ(shares_of(1.9, 40), 1);
    EXPECT_EQ(shares_of(40, 40), kMemoryShares);
}

TEST(GpuMemory, IsSharedOut) {
    EXPECT_TRUE(says_out_of_memory("CUDA out of memory. Tried to allocate 2.00 GiB"));
    EXPECT_TRUE(says_out_of_memory("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"));
    EXPECT_FALSE(says_out_of_memory("an illegal memory access was encountered"));
    EXPECT_EQ(memory_shares("/no/such/call.json"), 0);

    GpuMemory first("cuda", ""), second("cuda", "");
    ASSERT_TRUE(first.take(5));
    ASSERT_TRUE(second.take(3));
    EXPECT_EQ(first.held() + second.held(), kMemoryShares);
    std::atomic<bool> all = false;
    std::thread other([&] {
        ASSERT_TRUE(second.take(kMemoryShares));  // lets go of its own
        all = true;
    });
    std::this_thread::sleep_for(kMoment);
    EXPECT_FALSE(all);
    GpuMemory none("cuda", ""), on_cpu("cpu", "");
    EXPECT_TRUE(none.take(0)) << "little is not waited for";
    EXPECT_TRUE(on_cpu.take(kMemoryShares));
    first.release();
    other.join();
    EXPECT_EQ(second.held(), kMemoryShares);
}

class TurnLog : public StandIns {
  protected:
    void SetUp() override {
        StandIns::SetUp();
        setenv("FACT_TURN_LOG", path().c_str(), 1);
    }
    void TearDown() override { unsetenv("FACT_TURN_LOG"); }
    fs::path path() const { return folder_.path() / "turns"; }
    std::vector<nlohmann::json> entries() const {
        std::vector<nlohmann::json> found;
        const auto text = read_file(path());
        std::istringstream lines(text ? *text : "");
        for (std::string line; std::getline(lines, line);)
            found.push_back(nlohmann::json::parse(line));
        return found;
    }
    // "shared | exclusive": the kinds in their order.
    std::string kinds() const {
        std::string text;
        for (const auto& entry : entries()) {
            if (!text.empty()) text += " | ";
            text += entry["kind"].get<std::string>();
        }
        return text;
    }
};

TEST_F(TurnLog, HasALineForEachHold) {
    {
        GpuTurn turn("cuda", "linear_0");
        ASSERT_TRUE(turn.take(LockKind::shared));
        ASSERT_TRUE(turn.take(LockKind::exclusive));
        std::this_thread::sleep_for(kMoment);
    }
    const auto all = entries();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]["kind"], "shared");
    EXPECT_EQ(all[1]["kind"], "exclusive");
    EXPECT_EQ(all[1]["who"], ::getpid());
    EXPECT_EQ(all[1]["what"], "linear_0");
    EXPECT_GE(all[1]["held_s"].get<double>(), 0.1);
    EXPECT_GE(all[1]["waited_s"].get<double>(), 0.0);
    EXPECT_GT(all[1]["when"].get<double>(), 1.7e9);
}

TEST_F(TurnLog, AWorkerHasTheGpuAloneOnlyWhileItTimes) {
    options_.max_candidates = 4;
    EXPECT_TRUE(realized({behaving("s00", "passed 90")}).realized);
    EXPECT_EQ(asked("candidate"), 2);  // briefly, and to be proved
    EXPECT_EQ(kinds(),
              "shared | "                       // preparing the call
              "shared | exclusive | shared | "  // proving, timing, proving with fresh inputs
              "shared | exclusive | shared | "  // the same in full
              "shared");                        // closing the call
}

TEST_F(TurnLog, AWorkerThatPreparesForLongLetsOthersGoFirst) {
    setenv("FAKE_OPEN", "rests", 1);
    EXPECT_TRUE(realized({behaving("s00", "passed 90")}).realized);
    EXPECT_TRUE(kinds().starts_with("shared | shared | shared | exclusive")) << kinds();
}

TEST_F(TurnLog, ACallThatRanOutOfMemoryGetsAllThatOthersTake) {
    options_.max_candidates = 4;
    const auto r = realized({behaving("s00", "crowded 90")});
    EXPECT_TRUE(r.realized) << r.why;
    EXPECT_EQ(asked("open"), 3);  // the text, the call, and the call again
    EXPECT_NE(kinds().find("memory 8/8"), std::string::npos) << kinds();
}

}  // namespace
}  // namespace fact::tune
