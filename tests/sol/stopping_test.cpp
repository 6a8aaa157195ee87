#include "sol/stopping.h"

#include <gtest/gtest.h>

namespace fact::sol {
namespace {

SearchState standing(double bound, double best, std::vector<Trial> tried,
                     std::vector<double> remaining) {
    return {bound, best, std::move(tried), std::move(remaining)};
}

Rules early() {
    Rules rules;
    rules.min_measured = 3;
    return rules;
}

TEST(Stopping, GoesOnWhileNothingHasPassed) {
    EXPECT_TRUE(decide(standing(100, 0, {}, {100}), early()).go_on);
}

TEST(Stopping, StopsWithinFivePercentOfTheBound) {
    const auto near = decide(standing(100, 105, {{90, 105}, {91, 106}}, {80}), early());
    EXPECT_FALSE(near.go_on);
    EXPECT_EQ(near.reason, "within 5 % of the bound: 105.0 us, bound 100.0 us");
    EXPECT_TRUE(decide(standing(100, 105, {{90, 105}}, {80}), early()).go_on) << "one time alone";
    EXPECT_TRUE(decide(standing(100, 105.1, {{90, 105.1}, {91, 106}}, {80}), early()).go_on);
    EXPECT_TRUE(decide(standing(0, 105, {{90, 105}, {91, 106}}, {80}), early()).go_on)
        << "the bound is not known";
}

TEST(Stopping, StopsWhenTheModelExpectsLittle) {
    // Measured is 1.2 times the model, so that 100 is expected to take 120: nothing better.
    const std::vector<Trial> tried{{100, 120}, {110, 132}, {120, 144}};
    const auto none = decide(standing(50, 120, tried, {100, 130}), early());
    EXPECT_FALSE(none.go_on);
    EXPECT_EQ(none.reason, "the model expects a gain of less than 1 %");
    EXPECT_FALSE(decide(standing(50, 120, tried, {99.5}), early()).go_on) << "0.5 % more";
    EXPECT_TRUE(decide(standing(50, 120, tried, {98}), early()).go_on) << "2 % more";
}

TEST(Stopping, DoesNotBelieveAModelItCannotCorrect) {
    EXPECT_TRUE(decide(standing(50, 120, {{100, 120}, {110, 132}}, {200}), early()).go_on);
    const std::vector<Trial> tried{{100, 120}, {110, 132}, {120, 144}};
    EXPECT_TRUE(decide(standing(50, 120, tried, {200, 0}), early()).go_on)
        << "one has no model time";
}

TEST(Stopping, EndsWithTheCandidates) {
    EXPECT_EQ(decide(standing(50, 120, {{100, 120}}, {}), early()).reason,
              "every candidate was tried");
}

TEST(Stopping, CorrectsTheModelCarefully) {
    // Ratios 1.0, 1.2, 1.3, 1.5, 2.0: the first quartile is 1.2.
    const std::vector<Trial> tried{{100, 120}, {100, 200}, {100, 100}, {100, 150}, {100, 130}};
    const std::vector<double> remaining{90, 80, 0};
    EXPECT_DOUBLE_EQ(expected_best(tried, remaining), 96);
    EXPECT_DOUBLE_EQ(expected_best({}, remaining), 0);
}

TEST(Pruning, ComparesTheCorrectedModelWithTheBest) {
    // 1.2 times the model: 99 may take 118.8, 101 would take 121.2.
    const SearchState now = standing(50, 120, {{100, 120}, {110, 132}, {120, 144}}, {});
    EXPECT_TRUE(may_be_best(99, now, early()));
    EXPECT_FALSE(may_be_best(101, now, early()));
    EXPECT_TRUE(may_be_best(0, now, early())) << "the model knows nothing of it";
    EXPECT_TRUE(may_be_best(101, now)) << "three are too few to believe the model";
    EXPECT_TRUE(may_be_best(101, standing(50, 0, {}, {}), early())) << "nothing has passed";
}

}  // namespace
}  // namespace fact::sol
