// How threads divide a row, compiled for the host: every element has one owner, and what a step
// reads lies together.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#define __device__
#include "common/row_shares.cuh"

namespace fact {
namespace {

template <int kLength, int kVector, int kThreads>
void every_element_once() {
    using Shares = RowShares<kLength, kVector, kThreads>;
    std::vector<int> owners(kLength);
    for (int thread = 0; thread < kThreads; ++thread)
        for (int i = 0; i < Shares::kHeld; ++i) {
            if (!Shares::has(i / kVector, thread)) continue;
            const int place = Shares::place(i, thread);
            ASSERT_LT(place, kLength);
            ++owners[static_cast<std::size_t>(place)];
            // A vector is kVector neighbours, and the next thread's follows it.
            EXPECT_EQ(place % kVector, i % kVector);
            if (thread > 0) {
                EXPECT_EQ(place, Shares::place(i, thread - 1) + kVector);
            }
        }
    EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), kLength);
}

TEST(RowShares, EveryElementHasOneOwner) {
    every_element_once<768, 8, 32>();
    every_element_once<8, 8, 1>();
    every_element_once<64, 8, 4>();
    every_element_once<4096, 8, 256>();
}

TEST(RowShares, TheLastStepMayBeShort) {
    every_element_once<776, 8, 64>();
    every_element_once<777, 1, 32>();
    every_element_once<12, 4, 32>();
    EXPECT_TRUE((RowShares<776, 8, 64>::full(0)));
    EXPECT_FALSE((RowShares<776, 8, 64>::full(1)));
    EXPECT_TRUE((RowShares<776, 8, 64>::has(1, 32)));
    EXPECT_FALSE((RowShares<776, 8, 64>::has(1, 33)));
}

}  // namespace
}  // namespace fact
