#include "driver/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "driver/run_folder.h"
#include "match/patterns/pattern.h"
#include "support/files.h"

namespace fact::driver {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json measured(double us) {
    return {{"median_us", us}, {"p10_us", us - 1}, {"p90_us", us + 1}, {"runs", 9}};
}

match::Pattern pattern_of(const std::string& id, std::vector<std::string> nodes) {
    match::Pattern pattern;
    pattern.id = id;
    pattern.family = id + "_kernel";
    pattern.kernel = "kernel of " + id;
    pattern.nodes = std::move(nodes);
    return pattern;
}

class CompareRuns : public testing::Test {
  protected:
    TemporaryFolder folder_{fs::temp_directory_path(), "fact-compare-test"};

    // A finished run of a module with the operators x, y and z.
    fs::path make(const std::string& name, const std::vector<match::Pattern>& patterns, json report,
                  const Settings& settings = {"model.py", ""}) {
        const RunFolder run(folder_.path() / name);
        match::Discovery found;
        found.patterns = patterns;
        found.idle = {{"x", "", "", {}}, {"y", "", "", {}}, {"z", "", "", {}}};
        EXPECT_TRUE(run.remember(settings, Asked{}));
        EXPECT_TRUE(write_file_atomic(run.discovery(), match::to_json(found)));
        EXPECT_TRUE(write_file_atomic(run.path() / "report.json", report.dump()));
        return run.path();
    }
};

json row(const std::string& id, bool fused, json single) {
    return {{"id", id},      {"where", "model.py:3"}, {"fused", fused},
            {"why", "slow"}, {"single", single},      {"sustained", json()}};
}

TEST_F(CompareRuns, TimesPatternsAndTheModel) {
    const json whole_a = json::array({{{"name", "eager"}, {"single", measured(100)}},
                                      {{"name", "composed"}, {"single", measured(60)}}});
    const json whole_b = json::array({{{"name", "eager"}, {"single", measured(100)}},
                                      {{"name", "composed"}, {"single", measured(80)}}});
    const auto a =
        make("a", {pattern_of("p0", {"x"}), pattern_of("a_1", {"y", "z"})},
             {{"source", "model.py"},
              {"device", "H200"},
              {"patterns", {row("p0", true, measured(10)), row("a_1", true, measured(20))}},
              {"whole", whole_a},
              {"agent", {{"provider", "command:x"}, {"calls", 3}, {"dollars", nullptr}}}});
    const auto b =
        make("b", {pattern_of("q7", {"x"}), pattern_of("q8", {"z"}), pattern_of("q9", {"z", "y"})},
             {{"source", "model.py"},
              {"device", "H200"},
              {"patterns",
               {row("q7", true, measured(20)), row("q8", true, json()), row("q9", false, json())}},
              {"whole", whole_b}},
             {"model.py", "bf16"});
    const auto done = compare_runs(a, b);
    ASSERT_TRUE(done) << done.error().text();
    const auto text = report::to_text(*done);
    EXPECT_NE(text.find("  --dtype               -          bf16\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  only A: slow\n"), std::string::npos) << text;
    const auto got = json::parse(report::to_json(*done));
    EXPECT_EQ(got["whole"][0]["single"]["a_over_b"], 1);
    EXPECT_EQ(got["whole"][1]["single"]["a_over_b"], 0.75);
    ASSERT_EQ(got["patterns"].size(), 3u);
    EXPECT_EQ(got["patterns"][0]["a"], "p0");
    EXPECT_EQ(got["patterns"][0]["b"], "q7");  // the same operator under another name
    EXPECT_EQ(got["patterns"][0]["single"]["a_over_b"], 0.5);
    EXPECT_EQ(got["patterns"][1]["a"], "a_1");
    EXPECT_EQ(got["patterns"][1]["b"], "q9");  // found there, and not fused
    EXPECT_EQ(got["patterns"][1]["b_fused"], false);
    EXPECT_TRUE(got["patterns"][2]["a"].is_null());
    EXPECT_TRUE(got["patterns"][2]["single"]["a_over_b"].is_null());  // never timed
    EXPECT_EQ(got["agent"][0], json({{"name", "calls"}, {"a", 3}, {"b", nullptr}}));
    EXPECT_TRUE(got["notes"].empty());
    EXPECT_EQ(got["settings"].size(), 2u);  // and --agent

    const auto asked = [&](const char* name, const char* writes) {
        return make(name, {},
                    {{"patterns", json::array()},
                     {"agent", {{"provider", "command:x"}, {"writes", writes}, {"bounds", "on"}}}});
    };
    const auto styles = compare_runs(asked("c", "language"), asked("d", "cuda"));
    ASSERT_EQ(styles->settings.size(), 1u);
    EXPECT_EQ(styles->settings[0].name, "--agent-writes");
    EXPECT_EQ(styles->settings[0].b, "cuda");
}

TEST_F(CompareRuns, OtherModulesAndOtherGpusAreSaid) {
    const json empty = json::array();
    const auto a = make("a", {pattern_of("p0", {"x", "w"})},
                        {{"device", "H200"}, {"patterns", {row("p0", true, json())}}});
    const auto b = make("b", {pattern_of("p0", {"x"})},
                        {{"device", "H100"}, {"patterns", {row("p0", true, json())}}});
    const auto done = compare_runs(a, b);
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_EQ(done->notes.size(), 3u);
    EXPECT_NE(done->notes[0].find("the modules differ (4 and 3 operators)"), std::string::npos);
    EXPECT_NE(done->notes[1].find("GPUs differ"), std::string::npos);
    EXPECT_EQ(done->notes[2], "the whole module was timed in neither run");
    EXPECT_TRUE(done->agent.empty());
    ASSERT_EQ(done->patterns.size(), 1u);  // the same kernel
    EXPECT_TRUE(done->patterns[0].a_fused && done->patterns[0].b_fused);
}

TEST_F(CompareRuns, WhatIsNoFinishedRunIsRefused) {
    const auto a = make("a", {}, {{"patterns", json::array()}});
    ASSERT_TRUE(compare_runs(a, a));
    const RunFolder unfinished(folder_.path() / "u");
    ASSERT_TRUE(unfinished.remember({"model.py", ""}));
    EXPECT_NE(compare_runs(a, unfinished.path()).error().message.find("has no report"),
              std::string::npos);
    EXPECT_FALSE(compare_runs(folder_.path() / "nowhere", a));
    for (const auto* damaged : {"{torn", "[]", "{\"patterns\": [3]}"}) {
        ASSERT_TRUE(write_file_atomic(a / "report.json", std::string(damaged)));
        EXPECT_TRUE(compare_runs(a, a).error().bad_input) << damaged;
    }
}

}  // namespace
}  // namespace fact::driver
