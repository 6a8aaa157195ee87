#include "index/build.h"

#include <algorithm>

#include "good_records.h"
#include "target/gpu_spec.h"
#include "texts.h"

namespace fact::index {
namespace {

namespace fs = std::filesystem;
using registry::Record;

std::string names(const std::vector<Example>& examples) {
    std::string all;
    for (const auto& example : examples) all += example.name + " ";
    return all;
}

TEST(Build, MakesAnExampleOfARecord) {
    const auto examples = examples_from({good()});
    ASSERT_EQ(examples.size(), 1u);
    const Example& example = examples.front();
    EXPECT_EQ(example.name, "linear_bias_bf16_4096x3072x768");
    EXPECT_EQ(example.computes, "linear bias: product (bf16)");
    EXPECT_EQ(example.from, "rule linear, record h200/" + registry::key(good()));
    EXPECT_EQ(example.measured, "2026-01-31, torch 2.11.0, nvcc 13.0.88, CUTLASS 4.2.0");
    EXPECT_EQ(example.time_us, 60);
    EXPECT_EQ(example.torch_us, 120);
    EXPECT_EQ(example.torch_error, 0.003);
    // 2 * 4096 * 3072 * 768 at what long products reach on an H200.
    EXPECT_NEAR(example.bound_us,
                2e-6 * 4096 * 3072 * 768 / find_gpu("h200")->calibrated_bf16_tflops, 0.01);
    EXPECT_TRUE(
        example.text.ends_with("}\nschedule linear_bias on sm90a {\n  tile 128x256x64\n}\n"))
        << example.text;
    EXPECT_EQ(*example_from_file(example.name, to_file(example)), example);
}

TEST(Build, LeavesOutWhatIsNoExample) {
    const auto none = [](auto&& change) {
        auto record = good();
        change(record);
        EXPECT_EQ(names(examples_from({record})), "");
    };
    none([](Record& r) { r.checks.clear(); });
    none([](Record& r) { r.text_checks.clear(); });
    none([](Record& r) { r.torch_single = {50, 49, 51, 40}; });                // slower than torch
    none([](Record& r) { r.single = r.torch_single = {900, 890, 910, 40}; });  // far from its bound
    none([](Record& r) { r.torch_single = {}; });
    none([](Record& r) { r.work.text = "kernel"; });
    none([](Record& r) { r.work.gpu = "Some other"; });
}

TEST(Build, TheBestOfAClassStaysInWhateverOrder) {
    auto fast = good(4096), slow = good(4100), small = good(256);
    fast.single = {50, 49, 51, 40};
    std::vector<Record> records{slow, small, fast};
    const auto wanted = "linear_bias_bf16_256x3072x768 linear_bias_bf16_4096x3072x768 ";
    EXPECT_EQ(names(examples_from(records)), wanted);
    std::ranges::reverse(records);
    EXPECT_EQ(names(examples_from(records)), wanted);
}

TEST(Build, OfManyThoseFurthestApart) {
    auto gelu = good(4096), near = good(32);
    gelu.work.text.replace(gelu.work.text.find("acc + bias"), 10, "gelu(acc + bias)");
    const auto two = examples_from({good(4096), near, gelu}, 2);
    ASSERT_EQ(two.size(), 2u);
    EXPECT_NE(two[0].text.find("gelu") == std::string::npos,
              two[1].text.find("gelu") == std::string::npos);
}

TEST(Build, TwoOfOneNameAreToldApart) {
    auto gelu = good();
    gelu.work.text.replace(gelu.work.text.find("acc + bias"), 10, "gelu(acc + bias)");
    const auto two = examples_from({good(), gelu});
    ASSERT_EQ(two.size(), 2u);
    EXPECT_NE(two[0].name, two[1].name);
    for (const auto& example : two)
        EXPECT_TRUE(example.name.starts_with("linear_bias_bf16_4096x3072x768_")) << example.name;
}

// Records that are added have to be in the index: FACT_REGISTRY=registry fact examples build
TEST(Build, TheShippedIndexIsThatOfTheShippedRecords) {
    const fs::path root(FACT_SOURCE_DIR);
    const registry::Registry shipped({root / "registry", {}});
    std::vector<Record> records;
    for (const auto& entry : shipped.all().entries) records.push_back(entry.record);
    const auto collection = read_collection(root / "index", "sm90a");
    ASSERT_TRUE(collection) << collection.error().message;
    EXPECT_TRUE(collection->damaged.empty()) << collection->damaged.front();
    std::vector<Example> there;
    for (const auto& entry : collection->entries) there.push_back(entry.example);
    const auto made = examples_from(records);
    EXPECT_EQ(names(there), names(made));
    EXPECT_TRUE(there == made);
    EXPECT_GE(made.size(), 30u);
    EXPECT_LE(made.size(), kMaxExamples);
}

}  // namespace
}  // namespace fact::index
