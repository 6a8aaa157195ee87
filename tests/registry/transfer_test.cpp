#include "registry/transfer.h"

#include <gtest/gtest.h>

#include "records.h"

namespace fact::registry {
namespace {

TEST_F(InFolders, WhatIsExportedIsImported) {
    for (const auto m : {16, 32, 64}) ASSERT_TRUE(shipping_.put(linear(m)).ok());
    const auto lines = to_lines(shipping_.all().entries);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
    const Registry mine({own_, {}});
    const auto done = import_lines(mine, lines);
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_EQ(done->added, 3);
    EXPECT_EQ(to_lines(mine.all().entries), lines);
    const auto again = import_lines(mine, lines);
    EXPECT_EQ(again->added, 0);
    EXPECT_EQ(again->kept, 3);
}

TEST_F(InFolders, ImportingMerges) {
    auto later = linear(16);
    later.provenance.date = "2026-02-01T00:00:00.000Z";
    ASSERT_TRUE(registry_.put(linear(16)).ok());
    ASSERT_TRUE(registry_.put(later).ok());
    auto newest = linear(32);
    newest.provenance.date = "2026-03-01T00:00:00.000Z";
    ASSERT_TRUE(registry_.put(linear(32)).ok());
    const auto done = import_lines(
        registry_, to_json(linear(16), -1) + to_json(newest, -1) + to_json(linear(64), -1));
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->kept, 1);
    EXPECT_EQ(done->replaced, 1);
    EXPECT_EQ(done->added, 1);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(later)), later);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(newest)), newest);
}

TEST_F(InFolders, BadLinesAreRefusedByNumberAndTheRestIsTaken) {
    auto edited = to_json(linear(128), -1);
    edited.replace(edited.find("\"m\":128"), 7, "\"m\":129");
    const auto done = import_lines(registry_, to_json(linear(16), -1) + "\n" + "no record\n" +
                                                  edited + to_json(linear(64), -1));
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->added, 2);
    ASSERT_EQ(done->refused.size(), 2u);
    EXPECT_EQ(done->refused[0].line, 3);
    EXPECT_EQ(done->refused[1].line, 4);
    EXPECT_NE(done->refused[1].why.find("its content has the key"), std::string::npos);
}

TEST_F(InFolders, AFileOfARegistryIsImportedToo) {
    EXPECT_EQ(import_lines(registry_, to_json(linear(), 1))->added, 1);
    auto newer = to_json(linear(), 1);
    newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 2");
    const auto done = import_lines(registry_, newer);
    ASSERT_EQ(done->refused.size(), 1u);
    EXPECT_NE(done->refused[0].why.find("format 2"), std::string::npos);
    EXPECT_EQ(import_lines(registry_, "")->refused.size(), 0u);
}

TEST(Filter, ByGpuRuleAndType) {
    const auto record = linear();
    for (const auto& filter : {Filter{}, Filter{"h200", "", ""}, Filter{"NVIDIA h2", "", ""},
                               Filter{"", "linear", ""}, Filter{"", "linear_bias", "bf16"}})
        EXPECT_TRUE(passes(record, filter));
    for (const auto& filter :
         {Filter{"h100", "", ""}, Filter{"", "attention", ""}, Filter{"", "linear", "f16"}})
        EXPECT_FALSE(passes(record, filter));
}

}  // namespace
}  // namespace fact::registry
