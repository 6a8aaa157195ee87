#include "match/families/candidate.h"

#include <gtest/gtest.h>

namespace fact::match {
namespace {

using graph::NodeId;

Candidate candidate(std::uint32_t anchor, std::vector<std::uint32_t> nodes, double priority) {
    Candidate made{NodeId{anchor}, {}, {}};
    for (const std::uint32_t node : nodes) made.nodes.push_back(NodeId{node});
    made.pattern.priority = priority;
    return made;
}

std::vector<std::size_t> sizes(const std::vector<Candidate>& chosen) {
    std::vector<std::size_t> all;
    for (const Candidate& own : chosen) all.push_back(own.nodes.size());
    return all;
}

TEST(Candidates, OfOverlappingOnesTheOneThatGainsMore) {
    const auto chosen = choose({candidate(1, {1, 2, 3}, 5), candidate(4, {3, 4}, 2)});
    EXPECT_EQ(sizes(chosen), std::vector<std::size_t>{3});
    EXPECT_EQ(sizes(choose({candidate(1, {1, 2, 3}, 1), candidate(4, {3, 4}, 2)})),
              std::vector<std::size_t>{2});
}

TEST(Candidates, OfEqualGainTheSmaller) {
    EXPECT_EQ(sizes(choose({candidate(1, {1, 2}, 5), candidate(1, {1}, 5)})),
              std::vector<std::size_t>{1});
}

TEST(Candidates, WhatLooksAlongRowsIsOfferedBesideAndAsLargeAsItMayBe) {
    Candidate plain = candidate(1, {1}, 3), rows = candidate(1, {1, 2}, 5),
              more = candidate(1, {1, 2, 3}, 4);
    rows.rowwise = more.rowwise = true;
    rows.pattern.cost.unfused_us = more.pattern.cost.unfused_us = 10;
    EXPECT_EQ(sizes(choose({plain, rows, more})), (std::vector<std::size_t>{3, 1}));
    more.pattern.priority = 1;  // not near any more
    EXPECT_EQ(sizes(choose({plain, rows, more})), (std::vector<std::size_t>{2, 1}));
}

TEST(Candidates, NothingIsBesideAttentionInOneKernel) {
    Candidate whole = candidate(1, {1, 2, 3}, 1), part = candidate(1, {1}, 5);
    whole.whole_attention = true;
    EXPECT_EQ(sizes(choose({part, whole})), std::vector<std::size_t>{3});
}

}  // namespace
}  // namespace fact::match
