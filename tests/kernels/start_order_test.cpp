// Numbers by the order of start, asked for by threads at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#define __device__

namespace fact::sm90 {
namespace {

using Word = unsigned long long;

Word atomicExch(Word* at, Word value) {
    return std::atomic_ref(*at).exchange(value);
}
Word atomicAdd(Word* at, Word more) {
    return std::atomic_ref(*at).fetch_add(more);
}

}  // namespace
}  // namespace fact::sm90

#include "sm90/start_order.cuh"

namespace fact::sm90 {
namespace {

TEST(StartOrder, NumbersEveryCallerOnceWhateverWasThereBefore) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 50; ++round) {
        const int callers = 1 + round % 12;
        const Word token = random();
        // What memory may hold: anything, zeros, another launch's words, or numbers near a count.
        const StartCounts before[] = {{random(), random()},
                                      {0, 0},
                                      {token - 1, (token - 1) << 8 | 3},
                                      {token + 1, 5},
                                      {7, token}};
        StartCounts counts = before[round % 5];
        for (int replay = 0; replay < 3; ++replay) {  // with the same token
            std::vector<int> numbers(static_cast<std::size_t>(callers));
            std::vector<std::thread> threads;
            for (int& number : numbers)
                threads.emplace_back([&] { number = start_number(counts, token, callers); });
            for (std::thread& thread : threads) thread.join();
            std::ranges::sort(numbers);
            std::vector<int> expected(numbers.size());
            std::iota(expected.begin(), expected.end(), 0);
            ASSERT_EQ(numbers, expected) << round;
            EXPECT_EQ(counts.claimed, 0u);  // clean for the next replay
            EXPECT_EQ(counts.count, 0u);
        }
    }
}

// Whoever comes later has a higher number, so nobody waits for one that has not started.
TEST(StartOrder, LaterIsHigher) {
    StartCounts counts{99, 99};
    for (int i = 0; i < 132; ++i) EXPECT_EQ(start_number(counts, 12345, 132), i);
}

}  // namespace
}  // namespace fact::sm90
