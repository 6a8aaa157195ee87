#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace fact::schedule {
namespace {

Problem minigpt_up() {
    Problem p;
    p.m = 65536, p.n = 3072, p.k = 768;
    return p;
}

TEST(Schedule, IsSpelledAsInTheLanguage) {
    Schedule s{{128, 256, 64}, {2, 1}};
    EXPECT_EQ(to_string(s),
              "tile 128x256x64  cluster 2x1  mainloop cooperative  stages auto  scheduler "
              "persistent(raster: m, swizzle: 8)");
    s.scheduler = Scheduler::streamk, s.raster = Raster::n, s.stages = 4;
    EXPECT_EQ(to_string(s),
              "tile 128x256x64  cluster 2x1  mainloop cooperative  stages 4  scheduler "
              "streamk(raster: n, swizzle: 8)");
}

TEST(Schedule, FewTilesAreDividedAlongK) {
    Problem p;
    p.m = 256, p.n = 256, p.k = 524288;
    EXPECT_TRUE(splits_depth(candidates_on_sm90(p).front().scheduler));
    for (const Schedule& s : candidates_on_sm90(minigpt_up()))
        EXPECT_EQ(s.scheduler, Scheduler::persistent);
}

TEST(Schedule, EveryCandidateIsLegalAndNamedOnce) {
    struct Numbers {
        DType dtype;
        bool split = false;
    };
    for (const Numbers& numbers : {Numbers{DType::bf16}, Numbers{DType::f16},
                                   Numbers{DType::f32, true}, Numbers{DType::f32, false}})
        for (const Major a : {Major::k, Major::mn})
            for (const Major b : {Major::k, Major::mn}) {
                Problem p = minigpt_up();
                p.operands = p.output = numbers.dtype, p.split = numbers.split;
                p.a = a, p.b = b;
                std::set<std::string> seen;
                const auto candidates = candidates_on_sm90(p);
                EXPECT_GE(candidates.size(), 8u);
                for (const Schedule& s : candidates) {
                    EXPECT_EQ(illegal_on_sm90(s, p), "") << to_string(s);
                    EXPECT_TRUE(seen.insert(to_string(s)).second) << to_string(s);
                    const SharedMemory memory = shared_memory_on_sm90(s, p);
                    EXPECT_GE(memory.stages, 2);
                    EXPECT_LE(memory.bytes, 232448);
                }
            }
}

// Walks are parameters of a launch: the first few candidates must be different kernels.
TEST(Schedule, TheFirstCandidatesAreDifferentKernels) {
    Problem p;
    p.m = p.n = p.k = 4096;
    std::set<std::string> kernels;
    const auto candidates = candidates_on_sm90(p);
    for (std::size_t i = 0; i < 8; ++i)
        kernels.insert(to_string(candidates[i]).substr(0, to_string(candidates[i]).find("raster")));
    EXPECT_GE(kernels.size(), 5u);
}

// Overlapping windows are read from memory once, and no cluster shares them.
TEST(Schedule, WindowsAreFewerBytesThanTheirMatrix) {
    Problem p;
    p.operands = p.output = DType::f32, p.tf32 = true;
    p.m = 128, p.n = 126 * 126, p.k = 576, p.batch = 128;
    Schedule s;
    s.tile = {128, 128, 32};
    EXPECT_EQ(illegal_on_sm90(s, p), "");
    const double matrix = expected_us_on_sm90(s, p);
    p.windows = WindowedOperand::b, p.stored = 1.0 / 9;
    EXPECT_LT(expected_us_on_sm90(s, p), 0.7 * matrix);
    for (const Schedule& one : candidates_on_sm90(p)) {
        EXPECT_EQ(one.cluster.m, 1) << to_string(one);
        if (one.tile.m >= p.m) {
            EXPECT_EQ(one.swizzle, 8) << "a single row of tiles has one walk: " << to_string(one);
        }
    }
    p.windows = WindowedOperand::a;
    for (const Schedule& one : candidates_on_sm90(p)) EXPECT_EQ(one.cluster.n, 1);
}

TEST(Schedule, TheModelKnowsWavesAndDepth) {
    const Schedule s = candidates_on_sm90(minigpt_up()).front();
    Problem more = minigpt_up();
    more.k *= 4;
    EXPECT_GT(expected_us_on_sm90(s, more), 2.5 * expected_us_on_sm90(s, minigpt_up()));
    // A tile more than a wave takes as long as two.
    Problem wave;
    wave.m = 12 * s.tile.m, wave.n = 11 * s.tile.n, wave.k = 8192;
    const double one = expected_us_on_sm90(s, wave);
    wave.m += s.tile.m;
    EXPECT_GT(expected_us_on_sm90(s, wave), 1.5 * one);
}

TEST(Schedule, ShortSumsPreferAnOverlappedEpilogue) {
    EXPECT_EQ(candidates_on_sm90(minigpt_up()).front().mainloop, Mainloop::pingpong);
}

TEST(Schedule, ScatteringTakesTimeAndIsOverlappedToo) {
    Problem stored = minigpt_up(), scattered = stored;
    scattered.scattered = true;
    const auto loss = [&](Mainloop mainloop) {
        const Schedule s{{128, 128, 64}, {1, 1}, mainloop};
        return expected_us_on_sm90(s, scattered) - expected_us_on_sm90(s, stored);
    };
    EXPECT_GT(loss(Mainloop::pingpong), 0);
    EXPECT_GT(loss(Mainloop::cooperative), 2 * loss(Mainloop::pingpong));
}

TEST(Schedule, LongSumsKeepTwoLevels) {
    for (const DType dtype : {DType::bf16, DType::f32}) {
        Problem p;
        p.operands = dtype, p.output = dtype, p.split = dtype == DType::f32;
        p.m = 256, p.n = 256, p.k = 524288;
        const auto candidates = candidates_on_sm90(p);
        ASSERT_FALSE(candidates.empty());
        for (const Schedule& s : candidates) {
            if (splits_depth(s.scheduler)) continue;  // short stretches of the sum
            EXPECT_LE(accumulators_on_sm90(s, p), 64);
        }
    }
}

// An f32 number of A that is converted feeds as many columns as there are.
TEST(Schedule, OneRoundedProductTakesWiderTilesThanThreeOfParts) {
    Problem p = minigpt_up();
    p.operands = p.output = DType::f32, p.k = 8192;
    const Schedule wide{{128, 256, 32}, {2, 1}};
    EXPECT_EQ(illegal_on_sm90(wide, p), "");
    EXPECT_EQ(candidates_on_sm90(p).front().tile, wide.tile);
    EXPECT_EQ(accumulators_on_sm90(wide, p), 128);
    EXPECT_EQ(shared_memory_on_sm90(wide, p).stages, 6) << "B comes in half the bytes";
    const Schedule narrow{{128, 128, 32}, {2, 1}};
    EXPECT_NE(illegal_on_sm90({{256, 128, 32}, {2, 1}}, p).find("64 rows"), std::string::npos);
    Problem long_sum = p;
    long_sum.k = 524288;
    EXPECT_NE(illegal_on_sm90(narrow, long_sum).find("two levels"), std::string::npos);
    p.split = true;
    EXPECT_NE(illegal_on_sm90(wide, p).find("columns wide"), std::string::npos);
    EXPECT_EQ(accumulators_on_sm90(narrow, p), 128);
}

// Tiles are divided where the last wave is at most half full and long.
TEST(Schedule, ShortLastWavesAreStreamed) {
    const auto streamed = [](long m, long n, long k) {
        Problem p = minigpt_up();
        p.m = m, p.n = n, p.k = k;
        return std::ranges::count_if(candidates_on_sm90(p), [](const Schedule& s) {
            return s.scheduler == Scheduler::streamk && s.tile.n == 256 &&
                   s.cluster == Cluster{2, 1};
        });
    };
    EXPECT_GT(streamed(2048, 2816, 8192), 1);  // 1.33 waves, walked in several ways
    EXPECT_GT(streamed(5120, 3584, 4096), 0);  // 4.24
    EXPECT_EQ(streamed(5120, 3584, 1024), 0) << "tiles are soon done";
    EXPECT_EQ(streamed(8192, 4096, 14336), 0) << "three quarters of a wave";
    EXPECT_EQ(streamed(8448, 4096, 8192), 0) << "whole waves";
}

// The model knows that the last tiles end together.
TEST(Schedule, TheModelStreamsAShortLastWave) {
    Problem p = minigpt_up();
    p.m = 2048, p.n = 2816, p.k = 8192;
    Schedule whole{{128, 256, 64}, {2, 1}, Mainloop::cooperative}, streamed = whole;
    streamed.scheduler = Scheduler::streamk;
    EXPECT_GT(expected_us_on_sm90(whole, p), 1.15 * expected_us_on_sm90(streamed, p));
}

TEST(Schedule, EachRefusalSaysWhy) {
    const Problem p = minigpt_up();
    const auto why = [&](Schedule s) { return illegal_on_sm90(s, p); };
    EXPECT_NE(why({{128, 128, 32}, {1, 1}}).find("128 bytes deep"), std::string::npos);
    EXPECT_NE(why({{192, 128, 64}, {1, 1}}).find("64 or 128 rows"), std::string::npos);
    EXPECT_NE(why({{128, 160, 64}, {1, 1}}).find("columns wide"), std::string::npos);
    EXPECT_NE(why({{256, 256, 64}, {1, 1}}).find("accumulators"), std::string::npos);
    EXPECT_NE(why({{128, 128, 64}, {4, 1}}).find("cluster"), std::string::npos);
    EXPECT_NE(why({{128, 256, 64}, {1, 1}, Mainloop::cooperative, 9}).find("stages"),
              std::string::npos);
    EXPECT_NE(why({{128, 64, 64}, {1, 1}, Mainloop::pingpong}).find("serializes"),
              std::string::npos);
    Schedule divided{{256, 128, 64}, {1, 1}, Mainloop::cooperative};
    divided.scheduler = Scheduler::streamk;
    EXPECT_NE(why(divided).find("spill"), std::string::npos);
    divided = {{128, 128, 64}, {1, 1}, Mainloop::pingpong};
    divided.scheduler = Scheduler::splitk;
    EXPECT_NE(why(divided).find("ping-pong needs two tiles"), std::string::npos);

    Problem single = p;
    single.operands = single.output = DType::f32, single.split = true;
    Schedule streamed{{128, 128, 32}, {1, 1}, Mainloop::cooperative};
    EXPECT_EQ(illegal_on_sm90(streamed, single), "");
    streamed.scheduler = Scheduler::streamk;
    EXPECT_NE(illegal_on_sm90(streamed, single).find("splitk"), std::string::npos);
}

}  // namespace
}  // namespace fact::schedule
