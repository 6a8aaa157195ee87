#include "torch/prepared_weights.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

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
    EXPECT_TRUE(found.at({1}).temporary.empty());
    EXPECT_EQ(found.at({0, 1}).kept, (std::vector{0, 2}));
    EXPECT_EQ(found.at({0, 1}).temporary, std::vector{1});
}

TEST(PreparedWeights, AChangeOfOneIsAChangeOfTheSet) {
    PreparedWeights prepared("one");
    const auto w = at::ones({4, 8}), g = at::ones({8}), b = at::ones({8}), kept = at::zeros({4, 8});
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, {}));
    prepared.keep({1, 2}, seen({w, g}), {kept});
    prepared.keep({1, 3}, seen({w, b}), {});
    ASSERT_TRUE(prepared.find({1, 2}, {w, g}, {}));
    EXPECT_TRUE(prepared.find({1, 2}, {w, g}, {})->front().is_same(kept));
    EXPECT_FALSE(prepared.find({1, 2}, {w, g.clone()}, {}));
    EXPECT_FALSE(prepared.find({1, 2}, {w.t(), g}, {}));
    EXPECT_FALSE(prepared.find({1, 2}, {w.narrow(0, 0, 2), g}, {}));

    g.add_(1);
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, {}));
    EXPECT_TRUE(prepared.find({1, 3}, {w, b}, {}));
    prepared.keep({1, 2}, seen({w, g}), {kept});
    EXPECT_TRUE(prepared.find({1, 2}, {w, g}, {}));
    w.copy_(at::zeros({4, 8}));
    EXPECT_FALSE(prepared.find({1, 2}, {w, g}, {}));
    EXPECT_FALSE(prepared.find({1, 3}, {w, b}, {}));
}

TEST(PreparedWeights, WhoMakesTheSameSharesIt) {
    PreparedWeights first("scale"), second("scale"), other("split");
    const auto w = at::ones({4, 8}), kept = at::zeros({4, 8});
    first.keep({1}, seen({w}), {kept});
    ASSERT_TRUE(second.find({1}, {w}, {}));
    EXPECT_TRUE(second.find({1}, {w}, {})->front().is_same(kept));
    EXPECT_FALSE(second.find({2}, {w}, {}));
    EXPECT_FALSE(second.find({1}, {w.clone()}, {}));
    EXPECT_FALSE(other.find({1}, {w}, {}));
    const auto before = seen({w});
    w.add_(1);
    first.keep({1}, before, {kept});  // changed while it was made
    EXPECT_FALSE(first.find({1}, {w}, {}));
    EXPECT_FALSE(second.find({1}, {w}, {}));
}

TEST(PreparedWeights, ATensorThatCountsNoChangesSpoilsTheSet) {
    const auto w = at::ones({4});
    const c10::InferenceMode on;
    EXPECT_TRUE(PreparedWeights::can_watch({w}));
    EXPECT_FALSE(PreparedWeights::can_watch({w, at::ones({4})}));
}

using Alive = c10::weak_intrusive_ptr<c10::TensorImpl>;

Alive alive(const at::Tensor& tensor) {
    return Alive(tensor.getIntrusivePtr());
}

constexpr Reader kCapturing{.capturing = true};

TEST(PreparedWeights, WhatAGraphReadsIsMadeAgainWhereItIs) {
    PreparedWeights prepared("captured");
    const auto w = at::ones({4});
    prepared.keep({0}, seen({w}), {at::zeros({4})});
    EXPECT_FALSE(prepared.captured({0}, {w}));
    const auto memory = prepared.find({0}, {w}, kCapturing)->front();
    for (int round = 0; round < 3; ++round) {
        w.add_(1);
        EXPECT_FALSE(prepared.find({0}, {w}, {}));
        const auto again = prepared.captured({0}, {w});
        ASSERT_TRUE(again);
        EXPECT_TRUE(again->front().is_same(memory));
        prepared.keep({0}, seen({w}), *again);
        EXPECT_TRUE(prepared.find({0}, {w}, kCapturing)->front().is_same(memory));
    }
    // Another tensor, and what nobody captured, is not that graph's.
    EXPECT_FALSE(prepared.captured({0}, {w.clone()}));
    EXPECT_FALSE(prepared.captured({1}, {w}));
}

TEST(PreparedWeights, WhatAGraphReadsLivesAsLongAsTheWeights) {
    auto w = at::ones({4});
    std::optional<Alive> captured, other;
    {
        PreparedWeights prepared("outlives");
        prepared.keep({0}, seen({w}), {at::zeros({4})});
        prepared.keep({1}, seen({w}), {at::zeros({4})});
        captured = alive(prepared.find({0}, {w}, kCapturing)->front());
        other = alive(prepared.find({1}, {w}, {})->front());
    }
    EXPECT_FALSE(captured->expired());
    EXPECT_TRUE(other->expired());
    // Whoever loads the same weights again captures the same memory.
    {
        PreparedWeights again("outlives");
        ASSERT_TRUE(again.find({0}, {w}, kCapturing));
        EXPECT_EQ(again.find({0}, {w}, kCapturing)->front().unsafeGetTensorImpl(),
                  captured->lock().get());
    }
    EXPECT_FALSE(captured->expired());
    w.reset();
    {
        const PreparedWeights another("one that goes");
    }
    EXPECT_TRUE(captured->expired());
}

TEST(PreparedWeights, RoundsOfNewWeightsDoNotPileUp) {
    std::vector<Alive> all;
    for (int round = 0; round < 10; ++round) {
        PreparedWeights prepared("rounds");
        const auto w = at::ones({4});
        prepared.keep({0}, seen({w}), {at::zeros({4})});
        all.push_back(alive(prepared.find({0}, {w}, kCapturing)->front()));
    }
    int left = 0;
    for (const auto& one : all) left += !one.expired();
    EXPECT_LE(left, 1);
}

TEST(PreparedWeights, CopiesOfAModuleDoNotPushEachOtherOut) {
    PreparedWeights prepared("copies");
    const auto one = at::ones({4}), other = at::ones({4});
    prepared.keep({0}, seen({one}), {at::zeros({4})});
    prepared.keep({0}, seen({other}), {at::zeros({4})});
    EXPECT_TRUE(prepared.find({0}, {one}, {}));
    EXPECT_TRUE(prepared.find({0}, {other}, {}));
}

TEST(PreparedWeights, ForgettingMakesAllOfItAnew) {
    PreparedWeights prepared("forget"), sharing("forget");
    const auto w = at::ones({4}), g = at::ones({4});
    prepared.keep({0}, seen({w}), {at::zeros({4})});
    prepared.keep({1}, seen({g}), {at::zeros({4})});
    const auto memory = prepared.find({1}, {g}, kCapturing)->front();
    ASSERT_TRUE(sharing.find({0}, {w}, {}));
    w.data().add_(1);  // which torch does not count
    EXPECT_TRUE(prepared.find({0}, {w}, {}));
    prepared.forget();
    EXPECT_FALSE(prepared.find({0}, {w}, {}));
    EXPECT_FALSE(sharing.find({0}, {w}, {}));
    EXPECT_FALSE(prepared.find({1}, {g}, {}));
    EXPECT_TRUE(prepared.captured({1}, {g})->front().is_same(memory));
}

TEST(PreparedWeights, ThreadsFindWhatOneOfThemMade) {
    std::atomic<int> made = 0;
    const auto w = at::ones({4});
    PreparedWeights prepared("threads");
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 200; ++turn) {
                if (prepared.find({0}, {w}, {.capturing = turn % 7 == 0})) {
                    if (turn % 50 == 0) prepared.forget();
                    continue;
                }
                const std::lock_guard alone(PreparedWeights::preparation_mutex());
                if (prepared.find({0}, {w}, {})) continue;
                auto memory = prepared.captured({0}, {w});
                const int number = ++made;
                prepared.keep({0}, seen({w}),
                              memory ? *memory : PreparedWeights::Tensors{at::zeros({4})});
                EXPECT_EQ(number, made);  // nobody else was making it
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_GE(made, 1);
}

}  // namespace
}  // namespace fact::exec
