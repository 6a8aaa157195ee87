#include "driver/learned_rules.h"

#include <gtest/gtest.h>

namespace fact::driver {
namespace {

TEST(LearnedRules, EveryShippedRuleFindsTheOperatorsItWasLearnedFrom) {
    const registry::Folders folders{
        .own = {}, .shipped = {std::filesystem::path(FACT_SOURCE_DIR) / "registry"}};
    std::vector<std::string> damaged;
    const auto rules = learned_rules(folders, &damaged);
    EXPECT_EQ(damaged, std::vector<std::string>{});
    ASSERT_FALSE(rules.empty());
    for (const auto& [rule, file, own] : rules) {
        SCOPED_TRACE(file.string());
        EXPECT_FALSE(own);
        EXPECT_EQ(file.stem(), rule.name);
        EXPECT_NE(rule.evidence.find(" us, torch "), std::string::npos) << rule.evidence;
        const auto found = agent::find_matches(rule.original, rule, {});
        EXPECT_EQ(found.size(), 1u);
        for (const auto& pattern : found)
            EXPECT_EQ(pattern.nodes.size(), rule.original.nodes.size());
    }
}

}  // namespace
}  // namespace fact::driver
