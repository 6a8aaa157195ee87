#include "tools/choose.h"

#include <fmt/format.h>

#include "kernels.h"
#include "tools/build.h"

namespace fact::tools {
namespace {

class Choose : public testing::Test {
  protected:
    Result<Choice> choose(std::string_view schedules, std::string_view arch = "sm90a") {
        program_ = compiled(std::string(kMlp) + std::string(schedules));
        const ir::Kernel& kernel = program_.kernels[0];
        return choose_schedules(program_, kernel, arch, bound(kernel, {"K=1024"}));
    }
    Result<dsl::Program> with(std::string_view schedule) {
        program_ = compiled(kMlp);
        return with_schedule({"mlp.fact", std::string(kMlp)}, program_.kernels[0], "sm90a",
                             schedule);
    }
    dsl::Program program_;
};

TEST_F(Choose, TheTextsScheduleIsTaken) {
    const auto choice = choose("schedule mlp_up on sm90a {\n  tile 128x64x64  cluster 1x1\n}\n");
    ASSERT_TRUE(choice) << choice.error().text();
    EXPECT_EQ(choice->schedules.at("acc").tile, (schedule::Tile{128, 64, 64}));
    ASSERT_EQ(choice->notes.size(), 1u);
    EXPECT_NE(choice->notes[0].find("the one that is given; mainloop, stages, scheduler chosen "
                                    "for M = 4096"),
              std::string::npos)
        << choice->notes[0];
}

TEST_F(Choose, OfAlternativesTheFirstRankedLegalOne) {
    const auto choice = choose(
        "schedule mlp_up on sm90a {\n"
        "  tile {128x64x64, 128x256x64, 128x128x16}  cluster 2x1  mainloop cooperative\n"
        "}\n");
    ASSERT_TRUE(choice) << choice.error().text();
    EXPECT_EQ(choice->schedules.at("acc").tile, (schedule::Tile{128, 256, 64}));
    EXPECT_NE(choice->notes.at(0).find("the most promising of the 3 given"), std::string::npos);
}

TEST_F(Choose, WhatTheTextLeavesOutIsFilledIn) {
    const auto guessed = choose("");
    ASSERT_TRUE(guessed) << guessed.error().text();
    EXPECT_NE(guessed->notes.at(0).find("chosen for M = 4096 (assumed)"), std::string::npos);
    const auto tile = choose("schedule mlp_up on sm90a {\n  cluster 2x1\n}\n");
    ASSERT_TRUE(tile) << tile.error().text();
    EXPECT_GT(tile->schedules.at("acc").tile.m, 0);
    EXPECT_EQ(tile->schedules.at("acc").cluster, (schedule::Cluster{2, 1}));
}

// An entry that is left out is what the best schedule with the others has, not a constant.
TEST_F(Choose, EveryEntryMayBeLeftOut) {
    const auto best = choose("")->schedules.at("acc");
    const auto chosen = [&](const std::string& entries) {
        const auto choice = choose("schedule mlp_up on sm90a {\n  " + entries + "\n}\n");
        EXPECT_TRUE(choice) << choice.error().text();
        return choice ? choice->schedules.at("acc") : schedule::Schedule{};
    };
    EXPECT_EQ(chosen(""), best);
    EXPECT_EQ(chosen(fmt::format("tile {}x{}x{}", best.tile.m, best.tile.n, best.tile.k)), best);
    EXPECT_EQ(chosen("stages auto"), best);
    const auto pingpong = chosen("mainloop pingpong");
    EXPECT_EQ(pingpong.mainloop, schedule::Mainloop::pingpong);
    EXPECT_EQ(pingpong.cluster, best.cluster);
    // No candidate has these: the rest is still what is legal and best.
    const auto odd = chosen("stages 3  scheduler persistent(swizzle: 5)");
    EXPECT_EQ(odd.stages, 3);
    EXPECT_EQ(odd.swizzle, 5);
    EXPECT_EQ(odd.tile, best.tile);
    const auto narrow = chosen("tile 64x64x64  mainloop pingpong");
    EXPECT_EQ(narrow.tile, (schedule::Tile{64, 64, 64}));
}

TEST_F(Choose, SaysWhyNothingServes) {
    const auto illegal = choose("schedule mlp_up on sm90a {\n  tile 128x128x16\n}\n");
    ASSERT_FALSE(illegal);
    EXPECT_TRUE(illegal.error().bad_input);
    EXPECT_NE(illegal.error().message.find("128 bytes deep"), std::string::npos);
    const std::string clustered = std::string(kMlp) + "schedule mlp_up on sm90a { cluster 2x1 }\n";
    const auto program = compiled(clustered);
    const ir::Kernel& kernel = program.kernels.front();
    const auto odd = choose_schedules(program, kernel, "sm90a", bound(kernel, {"K=99"}));
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().message.find("no tensor map can address it"), std::string::npos)
        << odd.error().message;
    const auto arch = choose("", "sm70");
    ASSERT_FALSE(arch);
    EXPECT_NE(arch.error().message.find("sm70"), std::string::npos);
}

TEST_F(Choose, AScheduleBesideTheText) {
    const auto entries = with("tile 128x128x64 cluster 1x2");
    ASSERT_TRUE(entries) << entries.error().text();
    ASSERT_EQ(entries->schedules.size(), 1u);
    EXPECT_EQ(entries->schedules[0].choices[0].cluster, (schedule::Cluster{1, 2}));
    EXPECT_TRUE(with("schedule mlp_up on sm90a { tile 128x128x64 }"));
    const auto wrong = with("tile 128x128x64 clutser 1x2");
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(wrong.error().bad_input);
    EXPECT_NE(wrong.error().message.find("--schedule:2:"), std::string::npos)
        << wrong.error().message;
    EXPECT_NE(wrong.error().message.find("cluster"), std::string::npos);
}

TEST_F(Choose, AScheduleBesideTheTextReplacesTheTexts) {
    const std::string text = std::string(kMlp) + "schedule mlp_up on sm90a {\n  cluster 2x1\n}\n";
    program_ = compiled(text);
    const ir::Kernel& kernel = program_.kernels[0];
    const auto given = with_schedule({"a.fact", text}, kernel, "sm90a", "tile 128x64x64");
    ASSERT_TRUE(given) << given.error().text();
    const auto choice = choose_schedules(*given, kernel, "sm90a", bound(kernel, {}));
    ASSERT_TRUE(choice) << choice.error().text();
    EXPECT_EQ(choice->schedules.at("acc").tile, (schedule::Tile{128, 64, 64}));
    EXPECT_NE(choice->notes.at(0).find("the one that is given"), std::string::npos);
}

TEST_F(Choose, WhatIsChosenCanBeEmitted) {
    const auto choice = choose("");
    ASSERT_TRUE(choice);
    const ir::Kernel& kernel = program_.kernels[0];
    const auto emitted = emit(kernel, *choice, "sm90a", bound(kernel, {"K=1024"}));
    ASSERT_TRUE(emitted) << emitted.error().text();
    EXPECT_TRUE(emitted->source.starts_with("// kernel mlp_up("));
    EXPECT_NE(emitted->source.find("extern \"C\" __global__"), std::string::npos);
    EXPECT_EQ(emitted->record.kernel, "mlp_up");
    EXPECT_FALSE(emit(kernel, *choice, "sm70", bound(kernel, {})));
}

// Rows of odd lengths cannot be addressed by tensor maps.
TEST_F(Choose, TheSkeletonFollowsTheSizes) {
    program_ = compiled(kMlp);
    const ir::Kernel& kernel = program_.kernels[0];
    const auto even = plan_stages(kernel, "sm90a", bound(kernel, {}));
    ASSERT_TRUE(even) << even.error().text();
    EXPECT_EQ(even->stages.at(0).product->skeleton, Skeleton::sm90);
    const auto odd = plan_stages(kernel, "sm90a", bound(kernel, {"K=1001"}));
    ASSERT_TRUE(odd) << odd.error().text();
    EXPECT_EQ(odd->stages.at(0).product->skeleton, Skeleton::sm80);
}

TEST_F(Choose, WhatOneKernelCannotHoldIsCut) {
    program_ = compiled(
        "kernel gated(x: bf16[M, K], z: bf16[M, K], a: bf16[N, K], b: bf16[N, K])\n"
        "    -> (y: bf16[M, N]) {\n"
        "  gate = x @ a.T\n"
        "  y = silu(gate) * (z @ b.T)\n"
        "}\n");
    const ir::Kernel& kernel = program_.kernels[0];
    const auto plan = plan_stages(kernel, "sm90a", bound(kernel, {}));
    ASSERT_TRUE(plan) << plan.error().text();
    ASSERT_EQ(plan->stages.size(), 2u);
    EXPECT_EQ(plan->cuts.size(), 1u);
    EXPECT_EQ(plan->stages[0].writes, (std::vector<std::string>{"gate"}));
    EXPECT_EQ(title(*plan->stages[0].product), "gate");
    EXPECT_EQ(title(*plan->stages[1].product), "the product of kernel 2");
    const auto choice = choose_schedules(program_, kernel, "sm90a", bound(kernel, {}));
    ASSERT_TRUE(choice) << choice.error().text();
    EXPECT_TRUE(emit(kernel, *choice, "sm90a", bound(kernel, {})));
}

// Two products of one matrix are one kernel: the first one's schedule is that of both.
TEST_F(Choose, AProductThatSharesATileHasNoScheduleOfItsOwn) {
    const std::string text =
        "kernel gated(x: bf16[M, K], a: bf16[N, K], b: bf16[N, K]) -> (y: bf16[M, N]) {\n"
        "  gate = x @ a.T\n"
        "  up = x @ b.T\n"
        "  y = silu(gate) * up\n"
        "}\n";
    const auto choose = [&](const std::string& product) {
        program_ = compiled(text + "schedule gated." + product +
                            " on sm90a { tile 128x128x64  mainloop pingpong }\n");
        const ir::Kernel& kernel = program_.kernels[0];
        return choose_schedules(program_, kernel, "sm90a", bound(kernel, {}));
    };
    EXPECT_TRUE(choose("gate"));
    const auto refused = choose("up");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("up shares a tile"), std::string::npos);
}

}  // namespace
}  // namespace fact::tools
