#include "support/times.h"

#include <gtest/gtest.h>

namespace fact {
namespace {

TEST(Times, MedianAndPercentiles) {
    std::vector<double> values;
    for (int i = 100; i >= 1; --i) values.push_back(i);
    const auto t = summarize(values);
    EXPECT_DOUBLE_EQ(t.median_us, 50.5);
    EXPECT_DOUBLE_EQ(t.low_us, 10);
    EXPECT_DOUBLE_EQ(t.high_us, 90);
    EXPECT_EQ(t.runs, 100);
    EXPECT_DOUBLE_EQ(summarize({3, 1, 2}).median_us, 2);
    EXPECT_EQ(summarize({}).runs, 0);
}

TEST(Times, MoreRunsMakeTheMedianMoreCertain) {
    EXPECT_DOUBLE_EQ(uncertainty({50, 48, 52, 4}), 2);
    EXPECT_DOUBLE_EQ(uncertainty({50, 48, 52, 16}), 1);
    EXPECT_DOUBLE_EQ(uncertainty({}), 0);
}

}  // namespace
}  // namespace fact
