// What the differential test on a GPU does on the host with tensors that are parts of wider ones.
#include "wide.h"

#include <gtest/gtest.h>

namespace fact::differential {
namespace {

using Sizes = std::vector<std::int64_t>;

gpu::TensorArg dense(Sizes sizes, DType dtype = DType::bf16) {
    return in_wider({nullptr, dtype, sizes, sizes}, {""});
}

constexpr Pad kColumns{"3 columns", 3, 0}, kRows{"2 rows", 0, 2}, kBoth{"both", 3, 2};

TEST(Wide, StridesLeaveRoomForThePad) {
    EXPECT_EQ(dense({2, 4, 8}).strides, (Sizes{32, 8, 1}));
    EXPECT_EQ(in_wider(dense({2, 4, 8}), kColumns).strides, (Sizes{44, 11, 1}));
    EXPECT_EQ(in_wider(dense({2, 4, 8}), kRows).strides, (Sizes{48, 8, 1}));
    EXPECT_EQ(in_wider(dense({5, 2, 4, 8}), kBoth).strides, (Sizes{132, 66, 11, 1}));
    EXPECT_EQ(in_wider(dense({8}), kBoth).strides, (Sizes{1}));
    EXPECT_EQ(in_wider(dense({}), kBoth).strides, Sizes{});
}

TEST(Wide, WhatIsBeforeTheFirstElement) {
    const auto bytes = [](const gpu::TensorArg& arg, const Pad& pad) {
        return bytes_before(in_wider(arg, pad), pad);
    };
    EXPECT_EQ(bytes(dense({4, 8}), kColumns), 6u);
    EXPECT_EQ(bytes(dense({4, 8}), kRows), 32u);
    EXPECT_EQ(bytes(dense({4, 8}, DType::f32), kBoth), 4u * (3 + 2 * 11));
    EXPECT_EQ(bytes(dense({8}), kBoth), 6u);
    EXPECT_EQ(bytes(dense({}), kBoth), 0u);
}

TEST(Wide, OwnElementsAreFoundAgain) {
    for (const Pad& pad : {kColumns, kRows, kBoth, Pad{"none"}})
        for (const Sizes& sizes : {Sizes{2, 3, 4}, Sizes{3, 4}, Sizes{5}, Sizes{}}) {
            const auto arg = in_wider(dense(sizes), pad);
            std::size_t count = 2;
            for (const auto size : sizes) count *= static_cast<std::size_t>(size);
            std::string own;
            for (std::size_t i = 0; i < count; ++i) own += static_cast<char>('a' + i);
            const auto memory = spread(arg, pad, own, '#');
            EXPECT_EQ(memory.size(), wide_bytes(arg, pad));
            EXPECT_EQ(std::size_t(std::count(memory.begin(), memory.end(), '#')),
                      memory.size() - count);
            std::string again;
            EXPECT_TRUE(take_own(arg, pad, memory, '#', again));
            EXPECT_EQ(again, own);
        }
}

TEST(Wide, WhatIsWrittenBesideThemIsSeen) {
    const auto arg = in_wider(dense({2, 3, 4}), kBoth);
    const std::string own(2 * 3 * 4 * 2, 'o');
    const auto memory = spread(arg, kBoth, own, '#');
    for (std::size_t at = 0; at < memory.size(); ++at) {
        auto changed = memory;
        changed[at] = 'x';
        std::string taken;
        EXPECT_EQ(take_own(arg, kBoth, changed, '#', taken), memory[at] == 'o') << at;
    }
}

// y = f(x) of matrices; y is stored through a tensor map.
TEST(Wide, TheLauncherIsAskedForOutputsOrInputs) {
    LaunchRecord record;
    record.kernel = "f";
    record.arch = "sm90a";
    record.params = {{"x", DType::bf16, 2}};
    record.outputs = {{"y", DType::bf16, 2}};
    Launch launch;
    launch.entry = "f";
    launch.grid = LinearGrid{{{{1, 0}}}, 1};
    launch.block = 32;
    launch.params = {TensorMapParam{1, {1, 0, kNoDim, kNoDim}, {32, 16, 1, 1}}};
    record.launches = {launch};
    const std::vector<gpu::TensorArg> tensors{dense({16, 64}), dense({16, 64})};
    EXPECT_TRUE(accepts(record, tensors, {"16 columns", 16, 0}, true));
    EXPECT_TRUE(accepts(record, tensors, kRows, true));
    EXPECT_FALSE(accepts(record, tensors, kColumns, true));
    EXPECT_TRUE(accepts(record, tensors, kColumns, false));
}

}  // namespace
}  // namespace fact::differential
