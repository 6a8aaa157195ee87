// Stage 3 of a model's work with a Python of ours: which of its sets becomes the plan, and what it
// is told.
#include "driver/agent_compose.h"

#include "agent/transcript.h"
#include "driver/ablate.h"
#include "driver/compose_run.h"
#include "timed_packages.h"

namespace fact::driver {
namespace {

using Lines = std::vector<std::string>;

struct AgentCompose : TimedPackages {
    report::Ablation ablation;
    report::Agent agent;
    AgentRequest request;

    // Beside a, b and c: dx for the first two operators, e for all three.
    void SetUp() override {
        TimedPackages::SetUp();
        environment.root = FACT_SOURCE_DIR;
        add("dx", "family_d", {"a", "b"}, "x", 1);
        add("e", "family_e", {"a", "b", "c"}, "x", 1);
        for (auto& [family, kernel] : realizations) {
            kernel.measured = true;
            kernel.single = {10, 9, 11, 40};
            kernel.baseline_single = {20, 19, 21, 40};
        }
        ablation.eager = {1000, 995, 1006, 11};
        ablation.all = {750, 745, 756, 11};
        ablation.kept = {700, 695, 706, 11};
        ablation.rows = {{"family_a", 2, {}, {1050, 1045, 1056, 11}, true},
                         {"family_b", 1, {}, {700, 695, 706, 11}, false},
                         {"family_d", 1, {}, {750, 745, 756, 11}, false}};
    }

    Plan plan_with(const Lines& ids) const {
        auto made = plan_of(found, realizations, ids);
        EXPECT_TRUE(made) << made.error().text();
        return made ? *made : Plan{};
    }
    Lines fused(const Plan& plan) const {
        Lines ids;
        for (const auto* pattern : plan.patterns(found.discovery)) ids.push_back(pattern->id);
        return ids;
    }
    Result<> compose(Plan& plan, const std::string& answer) {
        request.provider = "command:printf '%s' '" + answer + "'";
        return compose_with_agent(environment, run, settings, found, realizations, ablation,
                                  request, agent, plan);
    }
    std::string question(const Plan& plan) {
        const auto asked = compose_question(environment, found, realizations, ablation, plan, 3);
        EXPECT_TRUE(asked) << asked.error().text();
        return asked ? *asked : "";
    }
    std::vector<agent::Exchange> transcript() const {
        auto kept = agent::read_transcript(run.path() / "agent" / "transcript.jsonl");
        return kept ? *kept : std::vector<agent::Exchange>{};
    }
};

TEST_F(AgentCompose, TheFastestSetBecomesThePlan) {
    auto chosen = plan_with({"a", "c"});
    const auto done =
        compose(chosen, R"(Try {"sets": [["dx"], ["dx", "c"], ["c", "a"], ["b"]]} in turn.)");
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(fused(chosen), (Lines{"c", "dx"}));
    EXPECT_EQ(agent.compositions, (Lines{"dx: 600.0 us, the chosen set 700.0 us",
                                         "c, dx: 300.0 us, the chosen set 700.0 us",
                                         "b: 1050.0 us, the chosen set 700.0 us"}));
    // What is reported of the ablation is what the package has.
    EXPECT_EQ(ablation.kept.median_us, 300);
    EXPECT_TRUE(ablation.rows[0].kept);  // by way of c
    EXPECT_FALSE(ablation.rows[1].kept);
    EXPECT_TRUE(ablation.rows[2].kept);
    EXPECT_EQ(agent.stage("compose").calls, 1);
    ASSERT_EQ(transcript().size(), 1u);
    EXPECT_EQ(transcript()[0].question.stage, "compose");
}

// Its median is less, by less than the medians are uncertain.
TEST_F(AgentCompose, ATieLeavesThePlan) {
    auto chosen = plan_with({"e"});
    ablation.kept = {301, 296, 307, 11};
    const auto done = compose(chosen, R"({"sets": [["dx", "c"]]})");
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(fused(chosen), (Lines{"e"}));
    EXPECT_EQ(agent.compositions, (Lines{"c, dx: 300.0 us, the chosen set 301.0 us"}));
    EXPECT_EQ(ablation.kept.median_us, 301);
    EXPECT_TRUE(ablation.rows[0].kept);
}

TEST_F(AgentCompose, WhatCannotBeTimedLeavesThePlan) {
    ASSERT_TRUE(write_file_atomic(environment.python, std::string("#!/bin/sh\nexit 1\n")));
    fs::permissions(environment.python, fs::perms::owner_all);
    auto chosen = plan_with({"a", "c"});
    const auto done = compose(chosen, R"({"sets": [["dx", "c"]]})");
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(fused(chosen), (Lines{"a", "c"}));
    EXPECT_EQ(agent.compositions,
              (Lines{"the sets cannot be timed: the trial packages cannot be timed"}));
    EXPECT_EQ(ablation.kept.median_us, 700);
}

// Neither answers of no use nor sets that cannot be composed; the rest of an answer is measured.
TEST_F(AgentCompose, WhatCannotBeComposedIsNoted) {
    realizations["family_b"].realized = false;
    realizations["family_b"].why = "no candidate passed";
    auto chosen = plan_with({"a", "c"});
    ASSERT_TRUE(compose(chosen, "The chosen set is best."));
    ASSERT_EQ(agent.compositions.size(), 1u);
    EXPECT_NE(agent.compositions[0].find("\"sets\""), std::string::npos);
    agent.compositions.clear();

    ASSERT_TRUE(compose(chosen, R"({"sets": [["p9"], ["dx", "a"], ["b"], [], ["e"]]})"));
    ASSERT_EQ(agent.compositions.size(), 5u);
    EXPECT_TRUE(agent.compositions[0].starts_with("p9: ")) << agent.compositions[0];
    EXPECT_EQ(agent.compositions[1], "dx, a: a is in both a and dx");
    EXPECT_EQ(agent.compositions[2], "b: b has no kernel: no candidate passed");
    EXPECT_EQ(agent.compositions[3], "a set cannot be read: the list of names is empty");
    EXPECT_EQ(agent.compositions[4], "e: 301.0 us, the chosen set 700.0 us");
    EXPECT_EQ(fused(chosen), (Lines{"e"}));
    EXPECT_EQ(agent.stage("compose").calls, 2);
}

TEST_F(AgentCompose, NobodyIsAskedWhereNothingCanBeChosen) {
    const auto asked = [&](const Plan& plan) {
        auto chosen = plan;
        EXPECT_TRUE(compose(chosen, R"({"sets": [["e"]]})"));
        EXPECT_EQ(fused(chosen), fused(plan));
        return !transcript().empty();
    };
    const auto chosen = plan_with({"a", "c"});
    request.calls = 0;
    EXPECT_FALSE(asked(chosen));
    EXPECT_EQ(agent.stopped, "0 calls were made");
    request.calls = 1;
    const auto measured = ablation;
    ablation = {};
    EXPECT_FALSE(asked(chosen)) << "without a GPU";
    ablation = measured;
    // What the plan leaves out is slower than torch, was never timed, or has no kernel.
    realizations["family_b"].single.median_us = 21;
    realizations["family_d"].measured = false;
    realizations["family_e"].realized = false;
    EXPECT_FALSE(asked(chosen));
    EXPECT_EQ(question(chosen), "");
    realizations["family_b"].single.median_us = 10;
    EXPECT_TRUE(asked(chosen));
}

// A module that was fastest as it was has a set that nobody tried.
TEST_F(AgentCompose, ASetIsFoundWhereNothingWasFused) {
    auto chosen = plan_with({});
    ablation.kept = ablation.eager;
    const auto done = compose(chosen, R"({"sets": [["e"]]})");
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(fused(chosen), (Lines{"e"}));
    EXPECT_EQ(agent.compositions, (Lines{"e: 301.0 us, the chosen set 1000.0 us"}));
}

TEST_F(AgentCompose, TheQuestionSaysWhatWasMeasured) {
    const auto asked = question(plan_with({"a", "c"}));
    for (const auto* line : {"a: 10.0 us, torch 20.0 us; shares with dx, e\n",
                             "c: 10.0 us, torch 20.0 us; shares with e\n",
                             "dx: 10.0 us, torch 20.0 us; shares with a, b, e\n",
                             "Eager takes 1000.0 us. The chosen set takes 700.0 us: a, c.\n",
                             "without family_a: 1050.0 us\nwithout family_b: 700.0 us\n"})
        EXPECT_NE(asked.find(line), std::string::npos) << line << asked;
    EXPECT_EQ(asked.find("{{"), std::string::npos) << asked;
}

// Of two families one goes: the question has the time without it, not that of all.
TEST_F(AgentCompose, TheQuestionHasTheTimeOfWhatTheAblationKept) {
    found.discovery.patterns.resize(3);
    auto chosen = plan(found, realizations);
    ASSERT_EQ(chosen.fused(), 3);
    const auto done = ablate_stage(environment, run, settings, found, realizations, "", chosen);
    ASSERT_TRUE(done) << done.error().text();
    ablation = *done;
    ASSERT_EQ(ablation.all.median_us, 750);
    ASSERT_TRUE(compose(chosen, R"({"sets": []})"));
    ASSERT_EQ(transcript().size(), 1u);
    const auto asked = transcript()[0].question.prompt;
    EXPECT_NE(asked.find("The chosen set takes 700.0 us: a, c."), std::string::npos) << asked;
    EXPECT_EQ(asked.find("750.0"), std::string::npos) << asked;
    EXPECT_EQ(fused(chosen), (Lines{"a", "c"}));
    EXPECT_TRUE(agent.compositions.empty());
}

}  // namespace
}  // namespace fact::driver
