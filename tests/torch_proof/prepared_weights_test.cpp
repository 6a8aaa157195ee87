#include "torch/prepared_weights.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

namespace fact::exec {
namespace {

// A launch over these tensors: two parameters, one output, then workspaces.
Launch launch(std::vector<int> prepares_from, const std::vector<int>& tensors) {
    Launch result;
    result.prepares_from = std::move(prepares_from);
    StructParam param;
    for (const int tensor : tensors) param.members.push_back({0, PointerField{tensor}});
    result.params = {param};
    return result;
}

TEST(PreparedWorkspaces, OthersLookAtWhatIsKept) {
    LaunchRecord record;
    record.params.resize(2);
    record.outputs.resize(1);
    record.workspaces.resize(4);
    record.launches = {launch({1}, {1, 3}),        // from a weight
                       launch({0, 1}, {0, 3, 4}),  // from that and the other one
                       launch({0, 1}, {4, 5}),     // split
                       launch({}, {5, 6, 2})};
    const auto found = prepared_workspaces(record);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found.at({1}).kept, std::vector{0});
    EXPECT_TRUE(found.at({1}).passing.empty());
    EXPECT_EQ(found.at({0, 1}).kept, (std::vector{0, 2}));
    EXPECT_EQ(found.at({0, 1}).passing, std::vector{1});
}

TEST(PreparedWeights, AChangeOfOneIsAChangeOfTheSet) {
    PreparedWeights prepared("one");
    const auto w = at::ones({4, 8}), g = at::ones({8}), b = at::ones({8}), kept = at::zeros({4, 8});
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, false));
    prepared.keep({1, 2}, seen({w, g}), {kept});
    prepared.keep({1, 3}, seen({w, b}), {});
    ASSERT_TRUE(prepared.find({1, 2}, {w, g}, false));
    EXPECT_TRUE(prepared.find({1, 2}, {w, g}, true)->front().is_same(kept));
    EXPECT_FALSE(prepared.find({1, 2}, {w, g.clone()}, false));
    EXPECT_FALSE(prepared.find({1, 2}, {w.t(), g}, false));
    EXPECT_FALSE(prepared.find({1, 2}, {w.narrow(0, 0, 2), g}, false));

    g.add_(1);
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, false));
    EXPECT_TRUE(prepared.find({1, 3}, {w, b}, false));
    prepared.keep({1, 2}, seen({w, g}), {kept});
    EXPECT_TRUE(prepared.find({1, 2}, {w, g}, false));
    w.copy_(at::zeros({4, 8}));
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, false));
    EXPECT_FALSE(prepared.find({1, 3}, {w, b}, false));
}

TEST(PreparedWeights, WhoMakesTheSameSharesIt) {
    PreparedWeights first("scale"), second("scale"), other("split");
    const auto w = at::ones({4, 8}), kept = at::zeros({4, 8});
    first.keep({1}, seen({w}), {kept});
    ASSERT_TRUE(second.find({1}, {w}, false));
    EXPECT_TRUE(second.find({1}, {w}, false)->front().is_same(kept));
    EXPECT_FALSE(second.find({2}, {w}, false));
    EXPECT_FALSE(second.find({1}, {w.clone()}, false));
    EXPECT_FALSE(other.find({1}, {w}, false));
    const auto before = seen({w});
    w.add_(1);
    first.keep({1}, before, {kept});  // changed while it was made
    EXPECT_FALSE(first.find({1}, {w}, false));
    EXPECT_FALSE(second.find({1}, {w}, false));
}

TEST(PreparedWeights, ATensorThatCountsNoChangesSpoilsTheSet) {
    const auto w = at::ones({4});
    const c10::InferenceMode on;
    EXPECT_TRUE(PreparedWeights::can_watch({w}));
    EXPECT_FALSE(PreparedWeights::can_watch({w, at::ones({4})}));
}

}  // namespace
}  // namespace fact::exec
