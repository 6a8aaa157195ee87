#include "torch/results.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace fact::exec {
namespace {

std::optional<graph::TensorType> type(std::vector<std::int64_t> sizes,
                                      std::vector<std::int64_t> strides) {
    graph::TensorType own;
    own.sizes = std::move(sizes);
    own.strides = std::move(strides);
    return own;
}

at::Tensor counted() {
    return at::arange(12, at::TensorOptions(c10::kFloat)).view({3, 4});
}

TEST(Results, ThoseOfTheirOwnAreLeftAlone) {
    Tensors results{counted(), counted().t()};
    const void* first = results[0].const_data_ptr();
    const void* second = results[1].const_data_ptr();
    const auto got =
        with_own_memory(std::move(results), {counted()},
                        {layout_of(type({3, 4}, {4, 1})), layout_of(type({4, 3}, {1, 4}))});
    EXPECT_EQ(got[0].const_data_ptr(), first);
    EXPECT_EQ(got[1].const_data_ptr(), second);
}

TEST(Results, InputsPartsOfThemAndOfOtherResultsAreCopied) {
    const auto input = counted(), made = counted();
    const auto got =
        with_own_memory({input, input.t(), made, made.slice(1, 0, 2)}, {input},
                        {layout_of(type({3, 4}, {4, 1})), layout_of(type({4, 3}, {1, 4})),
                         layout_of(type({3, 4}, {4, 1})), layout_of(type({3, 2}, {4, 1}))});
    EXPECT_TRUE(at::equal(got[0], input));
    EXPECT_TRUE(at::equal(got[1], input.t()));
    EXPECT_TRUE(at::equal(got[3], made.slice(1, 0, 2)));
    EXPECT_EQ(got[1].strides(), (std::vector<std::int64_t>{1, 4}));
    for (const auto& result : got) EXPECT_FALSE(result.is_alias_of(input));
    EXPECT_FALSE(got[3].is_alias_of(got[2]));
}

TEST(Results, TheyLieAsWasSaid) {
    const auto got =
        with_own_memory({counted(), counted().slice(0, 1).slice(1, 1)}, {},
                        {layout_of(type({3, 4}, {1, 3})), layout_of(type({2, 3}, {4, 1}))});
    EXPECT_TRUE(at::equal(got[0], counted()));
    EXPECT_EQ(got[0].strides(), (std::vector<std::int64_t>{1, 3}));
    // Not where it began, which was no multiple of 16 bytes.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got[1].const_data_ptr()) % 16, 0U);
    EXPECT_EQ(got[1].strides(), (std::vector<std::int64_t>{4, 1}));
}

TEST(Results, StridesOfSingleElementsCostNoCopy) {
    Tensors results{counted().view({1, 3, 4})};
    const void* data = results[0].const_data_ptr();
    const auto got =
        with_own_memory(std::move(results), {}, {layout_of(type({1, 3, 4}, {99, 4, 1}))});
    EXPECT_EQ(got[0].const_data_ptr(), data);
    EXPECT_EQ(got[0].stride(0), 99);
}

TEST(Results, SharedElementsGetTheirOwn) {
    EXPECT_EQ(layout_of(type({3, 4}, {0, 1}))->strides, (std::vector<std::int64_t>{4, 1}));
    EXPECT_EQ(layout_of(type({3, 4}, {2, 1}))->strides, (std::vector<std::int64_t>{4, 1}));
    EXPECT_EQ(layout_of(type({3, 2}, {4, 1}))->strides, (std::vector<std::int64_t>{4, 1}));
    const auto row = counted().slice(0, 0, 1);
    const auto got = with_own_memory({row.expand({3, 4})}, {}, {layout_of(type({3, 4}, {0, 1}))});
    EXPECT_EQ(got[0].strides(), (std::vector<std::int64_t>{4, 1}));
}

TEST(Results, OtherSizesThanWereTracedAreRefused) {
    EXPECT_ANY_THROW(with_own_memory({counted()}, {}, {layout_of(type({4, 3}, {3, 1}))}));
}

}  // namespace
}  // namespace fact::exec
