#include "verify/binding_view.h"

#include <gtest/gtest.h>

namespace fact::verify {
namespace {

using Sizes = std::vector<std::int64_t>;

Result<View> view(std::vector<std::vector<int>> dims, Sizes sizes, Sizes strides) {
    return view_through({"x", "value", std::move(dims), false}, sizes, strides);
}

TEST(BindingView, MergesDimensionsThatLieBehindOneAnother) {
    const auto merged = view({{0, 1}, {2}}, {4, 8, 16}, {128, 16, 1});
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(*merged, (View{{32, 16}, {16, 1}}));
}

TEST(BindingView, KeepsPitchesAndOrder) {
    // q of a packed projection: [batch, head, token, channel] over [batch, token, 3, head, channel]
    const auto q = view({{0}, {1}, {2}, {3}}, {2, 8, 64, 96}, {147456, 96, 2304, 1});
    ASSERT_TRUE(q.ok());
    EXPECT_EQ(*q, (View{{2, 8, 64, 96}, {147456, 96, 2304, 1}}));
    const auto transposed = view({{1}, {0}}, {8, 4}, {1, 8});
    ASSERT_TRUE(transposed.ok());
    EXPECT_EQ(*transposed, (View{{4, 8}, {8, 1}}));
}

TEST(BindingView, RefusesWhatCannotBeMerged) {
    const auto gap = view({{0, 1}, {2}}, {4, 8, 16}, {256, 16, 1});
    ASSERT_FALSE(gap.ok());
    EXPECT_EQ(gap.error().message, "dimensions 0, 1 of value are not adjacent in memory");
}

TEST(BindingView, MissingDimensionsMustBeBroadcast) {
    EXPECT_TRUE(view({{2}}, {1, 4, 16}, {64, 0, 1}).ok());
    const auto real = view({{2}}, {1, 4, 16}, {64, 16, 1});
    ASSERT_FALSE(real.ok());
    EXPECT_EQ(real.error().message, "dimension 1 of value is not bound, and it is not broadcast");
}

TEST(BindingView, ExtentsOfOneGetDenseStrides) {
    const auto one = view({{0}, {1}}, {1, 16}, {7, 1});
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(*one, (View{{1, 16}, {16, 1}}));
    const auto empty = view({{}, {0}}, {16}, {1});
    ASSERT_TRUE(empty.ok());
    EXPECT_EQ(*empty, (View{{1, 16}, {16, 1}}));
    // Merging over an extent of one ignores its stride.
    const auto merged = view({{0, 1, 2}}, {4, 1, 16}, {16, 999, 1});
    ASSERT_TRUE(merged.ok());
    EXPECT_EQ(*merged, (View{{64}, {1}}));
}

TEST(BindingView, AHalfBeginsWhereTheOtherEnds) {
    const auto half = [](graph::Half half, Sizes sizes) {
        return view_through({"w2", "w", {{0}, {1}}, true, 16, half}, sizes, Sizes{16, 1});
    };
    EXPECT_EQ(*half({0, 0, false}, {8, 16}), (View{{4, 16}, {16, 1}, 0}));
    EXPECT_EQ(*half({0, 1, false}, {8, 16}), (View{{4, 16}, {16, 1}, 64}));
    EXPECT_EQ(*half({0, 1, true}, {8, 16}), (View{{4, 16}, {32, 1}, 16}));
    EXPECT_FALSE(half({0, 1, false}, {7, 16}));
    EXPECT_FALSE(half({2, 1, false}, {8, 16}));
}

TEST(BindingView, RefusesDimensionsThatAreNotThere) {
    EXPECT_FALSE(view({{2}}, {4, 4}, {4, 1}).ok());
}

}  // namespace
}  // namespace fact::verify
