#include "driver/summary.h"

#include <gtest/gtest.h>

namespace fact::driver {
namespace {

tune::Realization realization(bool resumed) {
    tune::CandidateResult built, found;
    built.compile_key = found.compile_key = "key";
    built.outcome = found.outcome = verify::Outcome::passed;
    found.cached = true;
    tune::Realization out;
    out.realized = true;
    out.resumed = resumed;
    out.candidates = {built, built, found};
    return out;
}

TEST(Summary, CountsTheWorkOfThisRunOnly) {
    const auto fresh = summarize({}, {}, {}, {{"a", realization(false)}}, {}).statistics;
    EXPECT_EQ(fresh.compiled, 2);
    EXPECT_EQ(fresh.cached, 1);
    const auto again = summarize({}, {}, {}, {{"a", realization(true)}}, {}).statistics;
    EXPECT_EQ(again.compiled, 0);
    EXPECT_EQ(again.cached, 0);
    EXPECT_EQ(again.realized, 1);
    EXPECT_EQ(again.candidates.at("passed"), 3);
}

TEST(Summary, WithoutAGpuTheInterpretersErrorIsTheTexts) {
    Discovered found;
    found.discovery.patterns.resize(1);
    found.discovery.patterns[0].family = "a";
    Plan plan;
    plan.choices.resize(1);
    plan.choices[0].fused = true;
    auto r = realization(false);
    r.device = "cpu";
    r.text_checks = r.checks = {{"normal", 1, {1e-3, 1e-4}, {2e-3, 1e-4}, true, ""}};
    const auto alone = summarize({}, {}, found, {{"a", r}}, plan);
    EXPECT_EQ(alone.patterns.at(0).text.checks, 1);
    EXPECT_EQ(alone.patterns.at(0).compiled.checks, 0);
    EXPECT_EQ(alone.statistics.texts, 1);
    EXPECT_EQ(alone.statistics.verified, 0);
    r.device = "NVIDIA H200";
    const auto ran = summarize({}, {}, found, {{"a", r}}, plan);
    EXPECT_EQ(ran.patterns.at(0).compiled.checks, 1);
    EXPECT_EQ(ran.statistics.verified, 1);
    // A family that has no kernel in the end was not verified, whatever its candidates were.
    r.realized = false;
    const auto none = summarize({}, {}, found, {{"a", r}}, plan).statistics;
    EXPECT_EQ(none.realized + none.verified + none.texts, 0);
}

TEST(Summary, WhyACandidateFailedIsWhole) {
    auto r = realization(false);
    r.family = "a";
    r.candidates[1].outcome = verify::Outcome::failed_to_build;
    r.candidates[1].name = "s01";
    r.candidates[1].why = "line 1\n" + std::string(500, 'x') + "\nline 3";
    const auto report = summarize({}, {}, {}, {{"a", r}}, {});
    ASSERT_EQ(report.incidents.size(), 1u);
    EXPECT_EQ(report.incidents[0], "a s01: failed to build: " + r.candidates[1].why);
    EXPECT_EQ(report::to_text(report).find("line 3"), std::string::npos);
}

TEST(Summary, ACatThatCopiesNothingIsNotLeftAlone) {
    Discovered found;
    for (const auto* name : {"all", "some", "none", "grown", "mixed"})
        found.discovery.left_alone.push_back({name, "aten.cat.default", "no rule covers it", {}});
    const auto report = summarize({}, {}, found, {}, {},
                                  {{"all", 2, 2, 0, ""},
                                   {"some", 3, 1, 0, "x is computed by torch"},
                                   {"none", 2, 0, 0, "x is an input"},
                                   {"grown", 2, 1, 1, ""},
                                   {"mixed", 3, 0, 1, "x is an input"}});
    ASSERT_EQ(report.idle.size(), 2u);
    EXPECT_EQ(report.idle[0].node, "all");
    EXPECT_EQ(report.idle[0].reason, "its parts are written in place by what computes them");
    EXPECT_EQ(report.idle[1].reason,
              "1 of 2 parts is written in place, and 1 is a cat in its memory");
    ASSERT_EQ(report.left_alone.size(), 3u);
    EXPECT_EQ(report.left_alone[2].reason,
              "1 is a cat in its memory; of the others, x is an input");
    EXPECT_EQ(report.left_alone[0].reason,
              "1 of 3 parts is written in place; of the others, x is computed by torch");
    EXPECT_EQ(report.left_alone[1].reason, "its parts are copied: x is an input");
    EXPECT_EQ(report.operators.left_alone, 3);
    EXPECT_EQ(report.operators.idle, 2);
}

TEST(Summary, EveryOperatorIsCountedOnce) {
    Discovered found;
    for (const auto* name : {"norm", "linear", "gelu", "mask", "sum", "view"}) {
        found.graph.nodes.emplace_back();
        found.graph.nodes.back().name = name;
    }
    found.discovery.patterns.resize(2);
    found.discovery.patterns[0].nodes = {"norm", "linear"};
    found.discovery.patterns[1].nodes = {"linear", "gelu"};
    found.discovery.patterns[1].copied = {"mask"};
    found.discovery.left_alone = {{"sum", "aten.sum.default", "why", {}}};
    found.discovery.idle = {{"view", "aten.view.default", "why", {}}};
    Plan plan;
    plan.choices.resize(2);
    plan.choices[1].fused = true;
    const auto o = summarize({}, {}, found, {}, plan).operators;
    EXPECT_EQ(o.all, 6);
    EXPECT_EQ(o.fused, 3);
    EXPECT_EQ(o.not_fused, 1);
    EXPECT_EQ(o.left_alone, 1);
    EXPECT_EQ(o.idle, 1);
    EXPECT_EQ(o.all, o.fused + o.not_fused + o.left_alone + o.idle);
}

}  // namespace
}  // namespace fact::driver
