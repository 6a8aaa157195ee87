// The ablation with a Python of ours: which packages it is given, and what becomes of the times.
#include "driver/ablate.h"

#include "driver/summary.h"
#include "timed_packages.h"

namespace fact::driver {
namespace {

struct Ablate : TimedPackages {
    Result<report::Ablation> ablate(Plan& chosen) {
        return ablate_stage(environment, run, settings, found, realizations, "", chosen);
    }
};

TEST_F(Ablate, EachFamilyAloneAndLeftOut) {
    auto chosen = plan(found, realizations);
    ASSERT_EQ(chosen.fused(), 3);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->eager.median_us, 1000);
    EXPECT_EQ(done->all.median_us, 750);
    EXPECT_EQ(done->patterns, 3);
    ASSERT_EQ(done->rows.size(), 2u);
    const auto &a = done->rows[0], &b = done->rows[1];
    EXPECT_EQ(a.family, "family_a");
    EXPECT_EQ(a.patterns, 2);
    EXPECT_EQ(a.alone.median_us, 700);
    EXPECT_EQ(a.all_but.median_us, 1050);
    EXPECT_TRUE(a.kept);
    EXPECT_EQ(b.alone.median_us, 1050);
    EXPECT_EQ(b.all_but.median_us, 700);
    EXPECT_FALSE(b.kept);
    EXPECT_EQ(chosen.fused(), 2);
    EXPECT_EQ(chosen.choices[1].why, "the whole module is 50.0 us faster without it");
    EXPECT_EQ(chosen.choices[0].saves_us, 300);
}

// Measured apart the one pays, in the whole module what overlaps it does.
TEST_F(Ablate, WhatElseTakesTheSamePlaceIsTried) {
    for (auto& pattern : found.discovery.patterns) pattern.priority = 2;
    add("dx", "family_d", {"a", "b"}, "x", 3);
    add("db", "family_d", {"c"}, "b", 1);
    auto chosen = plan(found, realizations);
    ASSERT_EQ(chosen.fused(), 3);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    const auto &a = done->rows[0], &b = done->rows[1];
    EXPECT_EQ(a.all_but.median_us, 1050);
    EXPECT_EQ(a.instead.median_us, 600);
    EXPECT_EQ(b.all_but.median_us, 700);
    EXPECT_EQ(b.instead.median_us, 300);  // the first two nodes as one, and the third
    EXPECT_TRUE(a.kept);
    EXPECT_FALSE(b.kept);
    EXPECT_EQ(chosen.choices[1].why, "the whole module is faster with other patterns in its place");
    EXPECT_TRUE(chosen.choices[2].fused);
    EXPECT_TRUE(chosen.choices[3].fused);
    EXPECT_EQ(chosen.fused(), 2);
}

// A package that two families would be replaced by is measured once, and of two packages that take
// as long the one with fewer patterns is taken.
TEST_F(Ablate, FewerPatternsThatTakeAsLongTakeThePlace) {
    found.discovery.patterns.resize(1);
    found.discovery.patterns[0].priority = 2;
    add("da", "family_d", {"b"}, "a", 2);
    add("e", "family_e", {"a", "b"}, "x", 3);
    auto chosen = plan(found, realizations);
    ASSERT_EQ(chosen.fused(), 2);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->all.median_us, 300);
    EXPECT_EQ(done->rows[0].instead.median_us, 301);
    EXPECT_EQ(done->rows[1].instead.median_us, 301);
    EXPECT_FALSE(done->rows[0].kept);
    EXPECT_FALSE(done->rows[1].kept);
    EXPECT_EQ(chosen.choices[0].why,
              "the whole module is as fast with fewer patterns in its place");
    EXPECT_TRUE(chosen.choices[2].fused);
}

// Where it would leave a place empty there is nothing to compare with.
TEST_F(Ablate, AFamilyIsReplacedEverywhereOrNotAtAll) {
    for (auto& pattern : found.discovery.patterns) pattern.priority = 2;
    add("dx", "family_d", {"a", "b"}, "x", 3);
    auto chosen = plan(found, realizations);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->rows[0].instead.runs, 0);
    EXPECT_TRUE(done->rows[0].kept);
}

// Without the one it is faster, without the other too, without both slower.
TEST_F(Ablate, WhatPaysTogetherIsMeasured) {
    ASSERT_TRUE(write_file_atomic(folder.path() / "needs_one", std::string("")));
    for (auto& pattern : found.discovery.patterns) pattern.priority = 2;
    add("db", "family_d", {"c"}, "b", 5);
    auto chosen = plan(found, realizations);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->all.median_us, 700);
    ASSERT_EQ(done->rows.size(), 3u);
    EXPECT_EQ(done->rows[0].all_but.median_us, 650);
    EXPECT_EQ(done->rows[1].all_but.median_us, 650);
    EXPECT_FALSE(done->rows[0].kept);
    EXPECT_TRUE(done->rows[1].kept);
    EXPECT_TRUE(done->rows[2].kept);
    EXPECT_EQ(chosen.fused(), 2);
}

// No family is seen to lose by itself, and all of them do.
TEST_F(Ablate, NothingIsFusedWhereTheModuleWasFaster) {
    found.discovery.patterns.erase(found.discovery.patterns.begin());
    found.discovery.patterns.resize(1);
    ASSERT_TRUE(write_file_atomic(folder.path() / "slow", std::string("")));
    auto chosen = plan(found, realizations);
    ASSERT_EQ(chosen.fused(), 1);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->all.median_us, 1050);
    EXPECT_EQ(chosen.fused(), 0);
    EXPECT_EQ(chosen.choices[0].why, "the original module is faster");
}

// A model's kernel that takes the place of the rules': what the rules alone would have given is
// measured beside it.
TEST_F(Ablate, WhatRulesAloneGiveIsMeasured) {
    found.discovery.patterns.erase(found.discovery.patterns.begin() + 1);  // family_b does not pay
    add("e", "family_e", {"a", "b"}, "x", 3).author = match::Author::agent;
    auto chosen = plan(found, realizations);
    const auto done = ablate(chosen);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->kept.median_us, 1);  // both families
    EXPECT_EQ(done->rules.median_us, 700);
    EXPECT_EQ(done->eager.median_us, 1000);

    report::Report report;
    report.ablation = *done;
    report.agent.provider = "command:x";
    report.agent.rows = {{"e", "", "accepted"}};
    report.patterns.resize(1);
    report.patterns[0].id = "e";
    report.patterns[0].fused = true;
    report.patterns[0].compiled.checks = 4;
    credit_agent(report);
    EXPECT_DOUBLE_EQ(report.agent.brought.value().share(), 0);  // there is no package
    report.package = "package";
    credit_agent(report);
    EXPECT_TRUE(report.agent.rows[0].composed && report.agent.rows[0].verified);
    EXPECT_DOUBLE_EQ(report.agent.brought.value().share(), 0.699);
    report.ablation = {};
    report.agent.brought.reset();
    credit_agent(report);
    EXPECT_FALSE(report.agent.brought);  // nothing was measured
}

TEST_F(Ablate, WhatWasMeasuredIsKept) {
    for (const bool again : {false, true}) {
        auto chosen = plan(found, realizations);
        if (again) environment.python = "/bin/false";
        const auto done = ablate(chosen);
        ASSERT_TRUE(done) << done.error().text();
        EXPECT_EQ(done->all.median_us, 750);
    }
}

}  // namespace
}  // namespace fact::driver
