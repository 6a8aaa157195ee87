#include "index/example.h"

#include <gtest/gtest.h>

namespace fact::index {
namespace {

Example example() {
    return {"linear_bf16_64x32x16",
            "linear: product (bf16)",
            "rule linear, record h200/0123456789abcdef",
            "2026-01-31, torch 2.11.0, nvcc 13.0.88",
            "sm90a",
            "NVIDIA H200",
            {{"2", 2}, {"K", 16}, {"M", 64}},
            "bf16",
            "tile 128x128x64  cluster 1x1",
            100.25,
            120.5,
            90,
            0.00345,
            0.004,
            "kernel f(x: bf16[M, K]) -> (y: bf16[M, K]) {\n  y = x\n}\n"};
}

TEST(ExampleFile, IsReadAsItWasWritten) {
    const auto file = to_file(example());
    const auto read = example_from_file(example().name, file);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, example());
    EXPECT_EQ(to_file(*read), file);
    EXPECT_NE(file.find("# time: 100.25 us\n# torch: 120.50 us\n# bound: 90.00 us\n"), file.npos);
}

// All of its text's extents are numbers: the line is there, and empty.
TEST(ExampleFile, MayHaveNoNamedExtents) {
    auto numbers = example();
    numbers.extents.clear();
    const auto file = to_file(numbers);
    EXPECT_NE(file.find("\n# extents: \n"), file.npos) << file;
    const auto read = example_from_file(numbers.name, file);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, numbers);
    EXPECT_EQ(to_file(*read), file);
}

TEST(ExampleFile, SaysWhatIsWrongWithIt) {
    const auto file = to_file(example());
    const auto refused = [&](const std::string& from, const std::string& to,
                             const std::string& why) {
        auto changed = file;
        changed.replace(changed.find(from), from.size(), to);
        const auto read = example_from_file("e", changed);
        ASSERT_FALSE(read) << to;
        EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
    };
    refused("# gpu: NVIDIA H200\n", "", "'# gpu: '");
    refused("100.25 us", "fast", "# time: fast");
    refused("100.25 us", "0.00 us", "# time: 0.00 us");
    refused("100.25 us", "nan us", "# time: nan us");
    refused("K=16", "K=", "extents");
    refused("K=16", "K=-1", "extents");
    refused("# computes: linear: product (bf16)", "# computes: ", "computes");
    refused(example().text, "", "no kernel text");
    EXPECT_FALSE(example_from_file("e", ""));
    EXPECT_FALSE(example_from_file("e", example().text));
}

TEST(ExampleFile, EveryBeginningOfOneIsRefused) {
    const auto head = to_file(example()).size() - example().text.size();
    for (std::size_t size = 0; size <= head; ++size)
        EXPECT_FALSE(example_from_file("e", to_file(example()).substr(0, size))) << size;
}

}  // namespace
}  // namespace fact::index
