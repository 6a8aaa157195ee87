// The ablation with a Python of ours: which packages it is given, and what becomes of the times.
#include "driver/ablate.h"

#include <gtest/gtest.h>

#include "../compose/graphs.h"
#include "driver/summary.h"
#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;

// -m fact.ablate SOURCE PACKAGE... --json FILE: kernels of family_a save 300 us, of family_b
// lose 50, of family_d save 400, of family_e 699. Where there is a file `needs_one`, a and b lose
// 50 each, and without both of them the module loses 400; where there is `slow`, every package
// takes 1050. Times spread by 11 us, and are uncertain by 3.
constexpr std::string_view kPython = R"sh(#!/bin/sh
shift 3
spell() { printf '{"median_us":%s,"low_us":%s,"high_us":%s,"runs":11}' $1 $(($1 - 5)) $(($1 + 6)); }
times=
while [ "$1" != --json ]; do
    us=1000
    grep -q family_a "$1/manifest.json" && us=$((us - 300))
    grep -q family_b "$1/manifest.json" && us=$((us + 50))
    grep -q family_d "$1/manifest.json" && us=$((us - 400))
    grep -q family_e "$1/manifest.json" && us=$((us - 699))
    [ -e "${0%/*}/slow" ] && us=1050
    if [ -e "${0%/*}/needs_one" ]; then
        grep -q family_a "$1/manifest.json" && us=$((us + 350))
        grep -q 'family_[ab]' "$1/manifest.json" || us=$((us + 400))
    fi
    times="$times,$(spell $us)"
    shift
done
printf '{"eager":%s,"times":[%s]}' "$(spell 1000)" "${times#,}" >"$2"
)sh";

struct Ablate : ::testing::Test {
    TemporaryFolder folder{fs::temp_directory_path(), "ablate-test"};
    RunFolder run{folder.path() / "run"};
    Environment environment;
    Settings settings;
    Discovered found;
    Realizations realizations;

    void SetUp() override {
        fs::create_directories(run.path());
        fs::copy_file(fs::path(FACT_SOURCE_DIR) / "tests/graph/data/gpt_block.pt2", run.archive());
        environment.python = (folder.path() / "python").string();
        ASSERT_TRUE(write_file_atomic(environment.python, std::string(kPython)));
        fs::permissions(environment.python, fs::perms::owner_all);
        environment.gpu.emplace();
        environment.gpu->name = "a GPU";
        settings.source = "model.py";
        found.graph = compose::make_graph({"x"}, {{"a", "x"}, {"b", "a"}, {"c", "b"}}, {"c"});
        for (const auto& [name, from, family] :
             {std::tuple{"a", "x", "family_a"}, {"b", "a", "family_b"}, {"c", "b", "family_a"}}) {
            auto pattern = compose::make_pattern(name, {name}, {from}, {name});
            pattern.family = family;
            found.discovery.patterns.push_back(pattern);
            auto& kernel = realizations[family];
            kernel.family = family;
            kernel.realized = true;
            kernel.folder = folder.path() / family;
            for (const auto* file : {"kernel.fact", "kernel.cu", "kernel.cubin", "record.json"})
                ASSERT_TRUE(write_file_atomic(kernel.folder / file, std::string("text")));
        }
    }

    // One more pattern, of family_d.
    void add(std::vector<std::string> nodes, const std::string& from, double priority) {
        auto pattern = compose::make_pattern("d" + from, nodes, {from}, {nodes.back()}, priority);
        pattern.family = "family_d";
        found.discovery.patterns.push_back(pattern);
        auto& kernel = realizations["family_d"] = realizations.at("family_a");
        kernel.family = "family_d";
    }

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
    add({"a", "b"}, "x", 3);
    add({"c"}, "b", 1);
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
    EXPECT_EQ(chosen.choices[1].why, "the whole module is faster with others in its place");
    EXPECT_TRUE(chosen.choices[2].fused);
    EXPECT_TRUE(chosen.choices[3].fused);
    EXPECT_EQ(chosen.fused(), 2);
}

// A package that two families would be replaced by is measured once, and of two packages that take
// as long the one with fewer patterns is taken.
TEST_F(Ablate, FewerPatternsThatTakeAsLongTakeThePlace) {
    found.discovery.patterns.resize(1);
    found.discovery.patterns[0].priority = 2;
    add({"b"}, "a", 2);
    realizations["family_e"] = realizations.at("family_a");
    realizations["family_e"].family = "family_e";
    auto together = compose::make_pattern("e", {"a", "b"}, {"x"}, {"b"}, 3);
    together.family = "family_e";
    found.discovery.patterns.push_back(together);
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
    add({"a", "b"}, "x", 3);
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
    add({"c"}, "b", 5);
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
    EXPECT_EQ(chosen.choices[0].why, "the whole module is faster as it was");
}

// A model's kernel that takes the place of the rules': what the rules alone would have given is
// measured beside it.
TEST_F(Ablate, WhatRulesAloneGiveIsMeasured) {
    found.discovery.patterns.erase(found.discovery.patterns.begin() + 1);  // family_b does not pay
    auto models = compose::make_pattern("e", {"a", "b"}, {"x"}, {"b"}, 3);
    models.family = "family_e";
    models.rule = "agent";
    realizations["family_e"] = realizations.at("family_a");
    realizations["family_e"].family = "family_e";
    found.discovery.patterns.push_back(models);
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
