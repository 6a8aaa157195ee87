#include "torch/guarded_buffers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstring>

namespace fact::exec {
namespace {

bool raised(const at::Tensor& flag) {
    return read_flags({flag})[0];
}

std::byte* start_of(const GuardedTensor& guarded) {
    return static_cast<std::byte*>(guarded.tensor().data_ptr());
}

TEST(GuardedTensor, SeesEveryByteAround) {
    for (const auto dtype : {at::kFloat, at::kBFloat16, at::kByte}) {
        const GuardedTensor guarded({3, 5}, {5, 1}, dtype, at::kCPU);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start_of(guarded)) % GuardedTensor::kAlignment,
                  0u);
        guarded.tensor().fill_(1);
        EXPECT_FALSE(raised(guarded.touched_outside()));
        const auto bytes = static_cast<std::int64_t>(guarded.tensor().nbytes());
        for (const std::int64_t at : {std::int64_t{-1}, bytes, -GuardedTensor::kMarginBytesOnCpu,
                                      bytes + GuardedTensor::kMarginBytesOnCpu - 1}) {
            start_of(guarded)[at] = std::byte{0};
            EXPECT_TRUE(raised(guarded.touched_outside())) << at;
            start_of(guarded)[at] = std::byte{0xFF};
        }
        EXPECT_FALSE(raised(guarded.touched_outside()));
    }
}

TEST(GuardedTensor, SeesGapsBetweenRows) {
    GuardedTensor guarded({2, 3}, {4, 1}, at::kFloat, at::kCPU);
    guarded.fill(0x00);
    EXPECT_EQ(guarded.tensor().abs().sum().item<float>(), 0);
    EXPECT_FALSE(raised(guarded.touched_outside()));
    reinterpret_cast<float*>(start_of(guarded))[3] = 1;  // the fourth column of the first row
    EXPECT_TRUE(raised(guarded.touched_outside()));
}

TEST(GuardedTensor, SeveralShareMemory) {
    graph::TensorType left{DType::f32, {4, 3}, {5, 1}}, right{DType::f32, {4, 2}, {5, 1}, 3};
    auto parts = GuardedTensor::sharing({left, right}, 20, c10::kCPU);
    ASSERT_EQ(parts.size(), 2u);
    parts[0].fill(0);
    EXPECT_TRUE(parts[1].tensor().isnan().all().item<bool>());  // not the other's elements
    parts[1].fill(0);
    for (const auto& part : parts) EXPECT_FALSE(raised(part.touched_outside()));
    auto past = parts[1].tensor().as_strided({3}, {1}, parts[1].tensor().storage_offset() + 15);
    past.fill_(1);  // the last row's two columns, and one more
    for (const auto& part : parts) EXPECT_TRUE(raised(part.touched_outside()));
}

TEST(GuardedTensor, FillsBytesAndComparesBits) {
    GuardedTensor guarded({4}, {1}, at::kBFloat16, at::kCPU);
    guarded.fill(0xFF);
    EXPECT_TRUE(guarded.tensor().isnan().all().item<bool>());
    EXPECT_EQ(guarded.bits().eq(-1).sum().item<std::int64_t>(), 4);
    guarded.fill(0x7B);
    EXPECT_TRUE(guarded.tensor().isfinite().all().item<bool>());
}

TEST(GuardedTensor, CopiesAnyStridesAndItsOffset) {
    const auto storage = at::randn({64});
    const at::Tensor views[] = {
        storage.as_strided({4, 8}, {1, 4}), storage.as_strided({3, 4}, {2, 1}),
        storage.as_strided({5, 4}, {0, 1}, 3), storage.as_strided({2, 4}, {16, 1}, 5)};
    for (const auto& view : views) {
        auto copy = GuardedTensor::copy_of(view);
        EXPECT_TRUE(copy.tensor().equal(view));
        EXPECT_EQ(copy.tensor().strides(), view.strides());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start_of(copy)) % GuardedTensor::kAlignment,
                  static_cast<std::uintptr_t>(view.storage_offset()) * sizeof(float));
        EXPECT_FALSE(raised(copy.differs_from(view)));
        EXPECT_FALSE(raised(copy.touched_outside()));
        const auto version = copy.tensor()._version();
        const auto other = at::randn({64});
        copy.load(other.as_strided(view.sizes(), view.strides(), view.storage_offset()));
        EXPECT_TRUE(raised(copy.differs_from(view)));
        EXPECT_FALSE(raised(copy.touched_outside()));
        // What is kept for a weight must notice.
        EXPECT_GT(copy.tensor()._version(), version);
    }
    EXPECT_TRUE(read_flags({}).empty());
}

}  // namespace
}  // namespace fact::exec
