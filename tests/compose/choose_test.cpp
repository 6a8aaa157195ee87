#include "compose/choose.h"

#include <gtest/gtest.h>

#include "graph/fused.h"
#include "graphs.h"

namespace fact::compose {
namespace {

const graph::Graph kGraph = make_graph({"x"}, {{"a", "x"}, {"b", "a"}, {"c", "b"}}, {"c"});

Candidate candidate(const match::Pattern& pattern, Times fused = {}, Times baseline = {}) {
    return {&pattern, true, {}, fused, baseline};
}

TEST(Choose, WithoutTimesEverythingRealizedIsFused) {
    const auto p0 = make_pattern("p0", {"a"}, {"x"}, {"a"});
    const auto p1 = make_pattern("p1", {"b"}, {"a"}, {"b"});
    auto lost = candidate(p1);
    lost.realized = false;
    lost.why = "no candidate passed";
    const auto choices = choose(kGraph, {candidate(p0), lost});
    EXPECT_TRUE(choices[0].fused);
    EXPECT_FALSE(choices[1].fused);
    EXPECT_EQ(choices[1].why, "no candidate passed");
}

TEST(Choose, TheGainMustExceedWhatTheMediansAreUncertain) {
    const auto p0 = make_pattern("p0", {"a"}, {"x"}, {"a"});
    const auto p1 = make_pattern("p1", {"b"}, {"a"}, {"b"});
    const auto p2 = make_pattern("p2", {"c"}, {"b"}, {"c"});
    const auto choices = choose(kGraph, {candidate(p0, {90, 89, 91, 50}, {100, 99, 101, 50}),
                                         candidate(p1, {99, 95, 105, 49}, {100, 95, 105, 49}),
                                         candidate(p2, {120, 119, 121, 50}, {100, 99, 101, 50})});
    EXPECT_TRUE(choices[0].fused);
    EXPECT_EQ(choices[1].why, "the gain (1.01x) is within the error of the measurement");
    EXPECT_EQ(choices[2].why, "slower than torch (0.83x)");
    // More runs tell more.
    EXPECT_TRUE(choose(kGraph, {candidate(p1, {99, 95, 105, 101}, {100, 95, 105, 101})})[0].fused);
}

TEST(Choose, OfOverlappingPatternsTheOneThatSavesMoreIsKept) {
    const auto small = make_pattern("p0", {"a"}, {"x"}, {"a"}, 1);
    const auto large = make_pattern("p1", {"a", "b"}, {"x"}, {"b"}, 5);
    const auto choices = choose(kGraph, {candidate(small), candidate(large)});
    EXPECT_FALSE(choices[0].fused);
    EXPECT_TRUE(choices[1].fused);
    EXPECT_NE(choices[0].why.find("overlaps it and saves more"), std::string::npos);
}

// A norm and a product, or the two as one: what they save together decides, not which saves most.
TEST(Choose, ThePairIsComparedWithTheTwoAsOne) {
    const auto norm = make_pattern("n0", {"a"}, {"x"}, {"a"});
    const auto product = make_pattern("p0", {"b"}, {"a"}, {"b"});
    const auto both = make_pattern("p0b", {"a", "b"}, {"x"}, {"b"});
    const auto fused = [&](double together) {
        const auto choices = choose(
            kGraph, {candidate(norm, {20, 20, 20, 50}, {30, 30, 30, 50}),
                     candidate(product, {80, 80, 80, 50}, {90, 90, 90, 50}),
                     candidate(both, {together, together, together, 50}, {120, 120, 120, 50})});
        EXPECT_NE(choices[2].fused, choices[0].fused);
        EXPECT_EQ(choices[0].fused, choices[1].fused);
        EXPECT_EQ(choices[choices[2].fused ? 0 : 2].why, choices[2].fused
                                                             ? "p0b overlaps it and saves more"
                                                             : "n0 overlaps it and saves more");
        return choices[2].fused;
    };
    EXPECT_TRUE(fused(99));
    EXPECT_FALSE(fused(101));  // it saves 19, each of the others 10
}

// Where the norm's own kernel does not pay, the product alone is what the two compete with.
TEST(Choose, WhatIsRefusedIsNoRival) {
    const auto norm = make_pattern("n0", {"a"}, {"x"}, {"a"});
    const auto product = make_pattern("p0", {"b"}, {"a"}, {"b"});
    const auto both = make_pattern("p0b", {"a", "b"}, {"x"}, {"b"});
    const auto choices =
        choose(kGraph, {candidate(norm, {31, 31, 31, 50}, {30, 30, 30, 50}),
                        candidate(product, {80, 80, 80, 50}, {90, 90, 90, 50}),
                        candidate(both, {105, 105, 105, 50}, {120, 120, 120, 50})});
    EXPECT_EQ(choices[0].why, "slower than torch (0.97x)");
    EXPECT_FALSE(choices[1].fused);
    EXPECT_TRUE(choices[2].fused);
}

// More sets than can be kept, all of them as good as each other before the last rival.
TEST(Choose, OfManyEqualSetsSomeAreKept) {
    constexpr int kRivals = 14;
    for (const double each : {0, 1}) {
        std::vector<std::vector<std::string>> nodes;
        std::vector<std::string> all;
        std::vector<match::Pattern> patterns;
        for (int i = 0; i < kRivals; ++i) {
            all.push_back("a" + std::to_string(i));
            nodes.push_back({all.back(), "x"});
            patterns.push_back(
                make_pattern("p" + std::to_string(i), {all.back()}, {"x"}, {all.back()}, each));
        }
        patterns.push_back(make_pattern("whole", all, {"x"}, all, 5));
        std::vector<Candidate> candidates;
        for (const auto& pattern : patterns) candidates.push_back(candidate(pattern));
        const auto choices = choose(make_graph({"x"}, nodes, all), candidates);
        for (int i = 0; i < kRivals; ++i)
            EXPECT_EQ(choices[static_cast<std::size_t>(i)].fused, each > 0) << i;
        EXPECT_EQ(choices.back().fused, each == 0);
    }
}

// What is of a chain of overlaps, but overlaps none of those taken, is taken too.
TEST(Choose, TheRestOfAChainFollows) {
    const auto first = make_pattern("p0", {"a"}, {"x"}, {"a"}, 3);
    const auto middle = make_pattern("p1", {"a", "b"}, {"x"}, {"b"}, 4);
    const auto end = make_pattern("p2", {"b", "c"}, {"a"}, {"c"}, 2);
    const auto choices = choose(kGraph, {candidate(first), candidate(middle), candidate(end)});
    EXPECT_TRUE(choices[0].fused);
    EXPECT_FALSE(choices[1].fused);
    EXPECT_TRUE(choices[2].fused);
}

// Sums of the same gains in another order are the same: the first set found stays.
// Convolutions and the norms between them: each norm may go with the one before it or after it, and
// all are rivals of the next ones, through a whole network.
TEST(Choose, ALongChainIsDecidedAsAWhole) {
    constexpr int kLinks = 40;
    std::vector<std::vector<std::string>> nodes;
    std::vector<match::Pattern> patterns;
    const auto name = [](const char* stem, int i) { return stem + std::to_string(i); };
    for (int i = 0; i < kLinks; ++i) {
        const std::string conv = name("conv", i), norm = name("norm", i);
        const std::string before = i == 0 ? "x" : name("norm", i - 1);
        nodes.push_back({conv, before});
        nodes.push_back({norm, conv});
        patterns.push_back(make_pattern(name("forwards", i), {conv, norm}, {before}, {norm}, 10));
        if (i > 0)
            patterns.push_back(make_pattern(name("backwards", i), {name("norm", i - 1), conv},
                                            {name("conv", i - 1)}, {conv}, 9.95));
    }
    const std::string last = name("norm", kLinks - 1);
    patterns.push_back(make_pattern("first", {"conv0"}, {"x"}, {"conv0"}, 6));
    patterns.push_back(make_pattern("last", {last}, {name("conv", kLinks - 1)}, {last}, 6));
    const auto graph = make_graph({"x"}, nodes, {last});
    std::vector<Candidate> candidates;
    for (const auto& pattern : patterns) candidates.push_back(candidate(pattern));
    // Each that goes forwards saves more than its rivals, but all that go backwards and what they
    // leave at the ends save most.
    double saved = 0;
    const auto choices = choose(graph, candidates);
    for (std::size_t i = 0; i < choices.size(); ++i)
        if (choices[i].fused) saved += patterns[i].priority;
    EXPECT_NEAR(saved, 2 * 6 + (kLinks - 1) * 9.95, 1e-6);
}

TEST(Choose, RoundingDecidesNothing) {
    const auto whole = make_pattern("l0", {"a", "b"}, {"x"}, {"b"}, 0.3);
    const auto one = make_pattern("p0", {"a"}, {"x"}, {"a"}, 0.1);
    const auto other = make_pattern("p1", {"b"}, {"a"}, {"b"}, 0.2);
    const auto choices = choose(kGraph, {candidate(whole), candidate(one), candidate(other)});
    EXPECT_TRUE(choices[0].fused);
    EXPECT_FALSE(choices[1].fused || choices[2].fused);
}

TEST(Choose, ThePartsOfAPatternMaySaveMoreTogether) {
    const auto whole = make_pattern("l0", {"a", "b"}, {"x"}, {"b"}, 5);
    const auto one = make_pattern("p0", {"a"}, {"x"}, {"a"}, 3);
    const auto other = make_pattern("p1", {"b"}, {"a"}, {"b"}, 3);
    auto choices = choose(kGraph, {candidate(whole), candidate(one), candidate(other)});
    EXPECT_FALSE(choices[0].fused);
    EXPECT_TRUE(choices[1].fused && choices[2].fused);
    choices = choose(kGraph, {candidate(whole), candidate(one)});
    EXPECT_TRUE(choices[0].fused);
    EXPECT_FALSE(choices[1].fused);
}

TEST(Choose, OfPatternsThatWaitForEachOtherTheOneThatSavesMoreIsKept) {
    const auto around = make_pattern("p0", {"a", "c"}, {"x", "b"}, {"a", "c"}, 1);
    const auto between = make_pattern("p1", {"b"}, {"a"}, {"b"}, 5);
    const auto choices = choose(kGraph, {candidate(around), candidate(between)});
    EXPECT_FALSE(choices[0].fused);
    EXPECT_TRUE(choices[1].fused);
    EXPECT_NE(choices[0].why.find("cannot all be fused"), std::string::npos) << choices[0].why;
}

}  // namespace
}  // namespace fact::compose
