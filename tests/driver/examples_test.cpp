#include "driver/examples.h"

#include <gtest/gtest.h>

namespace fact::driver {
namespace {

index::Example called(const std::string& name) {
    index::Example example;
    example.name = name;
    example.computes = "does " + name;
    example.gpu = "NVIDIA H200";
    example.extents = {{"M", 64}};
    example.schedule = "32 threads a row";
    example.time_us = 10, example.torch_us = 25, example.bound_us = 8;
    example.text = "kernel " + name + "(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n";
    return example;
}

const RelatedExamples kAdvice{{{called("near"), 1}, {called("other"), 7}, {called("far"), 20}},
                              {{"Short", {}, "Do this.", "3 of 3."}}};

TEST(InPrompt, HasCardsAndTimesOfWhatIsNear) {
    EXPECT_EQ(in_prompt({{kAdvice.examples.front()}, kAdvice.cards}, 3'000),
              "- Short: Do this. (Evidence: 3 of 3.)\n\n"
              "does near: 10.0 us, torch 25.0 us (2.50x), bound 8.0 us; NVIDIA H200, M = 64; "
              "32 threads a row\n"
              "```fact\nkernel near(x: f32[M]) -> (y: f32[M]) {\n  y = x\n}\n```");
    const auto all = in_prompt(kAdvice, 3'000);
    EXPECT_NE(all.find("kernel other"), std::string::npos);
    EXPECT_EQ(all.find("kernel far"), std::string::npos);
}

TEST(InPrompt, TheNearestStaysHoweverFar) {
    const auto text = in_prompt({{{called("far"), 20}, {called("further"), 30}}, {}}, 3'000);
    EXPECT_NE(text.find("kernel far("), std::string::npos);
    EXPECT_EQ(text.find("kernel further("), std::string::npos);
    EXPECT_EQ(in_prompt({}, 3'000), "(none is near)");
}

TEST(InPrompt, LeavesOutWholeWhatDoesNotFit) {
    for (std::size_t most = 0; most < 600; most += 7) {
        const auto text = in_prompt(kAdvice, most);
        EXPECT_LE(text.size(), std::max<std::size_t>(most, 14));
        std::size_t fences = 0;
        for (auto at = text.find("```"); at != text.npos; at = text.find("```", at + 3)) ++fences;
        EXPECT_EQ(fences % 2, 0u) << text;
    }
}

}  // namespace
}  // namespace fact::driver
