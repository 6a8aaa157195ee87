#include "registry/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "records.h"

namespace fact::registry {
namespace {

using Put = Registry::Put;

TEST_F(InFolders, FindsWhatWasPut) {
    EXPECT_FALSE(registry_.find("NVIDIA H200", key(linear())));
    EXPECT_TRUE(registry_.all().entries.empty());
    ASSERT_EQ(*registry_.put(linear()), Put::added);
    EXPECT_TRUE(fs::exists(file_of(linear(), own_)));
    EXPECT_FALSE(fs::exists(shipped_));
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), linear());
    EXPECT_FALSE(registry_.find("NVIDIA H100 PCIe", key(linear())));
    const auto all = registry_.all();
    ASSERT_EQ(all.entries.size(), 1u);
    EXPECT_TRUE(all.entries[0].own);
    EXPECT_TRUE(registry_.all("h100-sxm").entries.empty());
}

TEST_F(InFolders, TheLaterMeasurementStays) {
    auto later = linear();
    later.provenance.date = "2026-02-01T00:00:00.000Z";
    later.single = {200, 190, 210, 9};  // even where it is slower
    ASSERT_EQ(*registry_.put(linear()), Put::added);
    EXPECT_EQ(*registry_.put(linear()), Put::kept);
    EXPECT_EQ(*registry_.put(later), Put::replaced);
    EXPECT_EQ(*registry_.put(linear()), Put::kept);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(later)), later);
}

TEST_F(InFolders, MergingHasOneOutcomeInWhateverOrder) {
    std::vector<Record> records(4, linear());
    records[1].provenance.date = "2026-02-01T00:00:00.000Z";
    records[2].provenance.date = "2026-02-01T00:00:00.000Z", records[2].single = {90, 89, 91, 9};
    records[3] = records[2], records[3].note = "A note that sorts first";
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
        std::error_code ignored;
        fs::remove_all(own_, ignored);
        for (const auto i : order) ASSERT_TRUE(registry_.put(records[i]).ok());
        EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), records[3]);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(InFolders, ShippedRecordsAreReadAndNeverWritten) {
    ASSERT_TRUE(shipping_.put(linear()).ok());
    const auto before = *read_file(file_of(linear(), shipped_));
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), linear());
    auto later = linear();
    later.provenance.date = "2026-02-01T00:00:00.000Z";
    ASSERT_EQ(*registry_.put(later), Put::added);
    EXPECT_EQ(*read_file(file_of(linear(), shipped_)), before);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), later);
    ASSERT_EQ(registry_.all().entries.size(), 1u);
    EXPECT_EQ(registry_.all().entries[0].record, later);
    // Nor are they removed.
    EXPECT_EQ(*registry_.remove({file_of(linear(), shipped_), file_of(linear(), own_)}), 1);
    EXPECT_TRUE(fs::exists(file_of(linear(), shipped_)));
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), linear());
}

TEST_F(InFolders, TornFilesAreAsGoodAsNone) {
    const auto file = file_of(linear(), own_);
    const auto whole = to_json(linear());
    ASSERT_TRUE(registry_.put(linear(1)).ok());
    for (const auto& text : {std::string(), whole.substr(0, 100), std::string("{}")}) {
        ASSERT_TRUE(write_file_atomic(file, text).ok());
        EXPECT_FALSE(registry_.find("NVIDIA H200", key(linear())));
        const auto listing = registry_.all();
        ASSERT_EQ(listing.entries.size(), 1u);
        EXPECT_EQ(listing.entries[0].record, linear(1));
        ASSERT_EQ(listing.damaged.size(), 1u);
        EXPECT_EQ(listing.damaged[0].file, file);
    }
    // The next measurement makes it whole.
    EXPECT_EQ(*registry_.put(linear()), Put::replaced);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), linear());
    EXPECT_TRUE(registry_.all().damaged.empty());
}

TEST_F(InFolders, OtherFormatsAndMisnamedFilesAreLeftAlone) {
    ASSERT_TRUE(registry_.put(linear()).ok());
    auto newer = to_json(linear());
    newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 2");
    ASSERT_TRUE(write_file_atomic(own_ / "h200" / "00ff.json", newer).ok());
    ASSERT_TRUE(write_file_atomic(own_ / "h200" / "copy.json", to_json(linear())).ok());
    ASSERT_TRUE(write_file_atomic(own_ / "h200" / "README.md", "text").ok());
    ASSERT_TRUE(write_file_atomic(own_ / "README.json", "text").ok());
    const auto listing = registry_.all();
    EXPECT_EQ(listing.entries.size(), 1u);
    ASSERT_EQ(listing.damaged.size(), 2u);
    EXPECT_NE(listing.damaged[0].why.find("format 2"), std::string::npos);
    EXPECT_NE(listing.damaged[1].why.find(key(linear())), std::string::npos);
}

TEST_F(InFolders, AFolderThatCannotBeWrittenSaysWhatToDo) {
    ASSERT_TRUE(write_file_atomic(own_, "a file in the way").ok());
    const auto put = registry_.put(linear());
    ASSERT_FALSE(put.ok());
    EXPECT_NE(put.error().text().find("FACT_REGISTRY"), std::string::npos);
}

// Runs `work(i)` in `count` processes at once; gives how many failed.
int failures_of(int count, auto&& work) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(work(i) ? 0 : 1);
        children.push_back(child);
    }
    int failures = 0;
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        failures += status != 0;
    }
    return failures;
}

TEST_F(InFolders, ManyProcessesWriteOneKeyAndTheLatestStays) {
    constexpr int kProcesses = 6, kRounds = 20;
    const auto dated = [](int i) {
        auto record = linear();
        record.provenance.date = "2026-02-01T00:00:" + std::to_string(10 + i) + ".000Z";
        return record;
    };
    // Whoever reads meanwhile sees a whole record or none.
    const int failures = failures_of(kProcesses, [&](int process) {
        for (int round = 0; round < kRounds; ++round) {
            if (!registry_.put(dated((round * kProcesses + process * 7) % 40)).ok()) return false;
            if (!registry_.find("NVIDIA H200", key(linear()))) return false;
        }
        return registry_.put(dated(40 + process)).ok();
    });
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(registry_.find("NVIDIA H200", key(linear())), dated(40 + kProcesses - 1));
    EXPECT_TRUE(registry_.all().damaged.empty());
    for (const auto& entry : fs::directory_iterator(own_ / "h200"))
        EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
}

TEST_F(InFolders, ManyProcessesWriteManyKeys) {
    constexpr int kProcesses = 6, kEach = 15;
    EXPECT_EQ(failures_of(kProcesses,
                          [&](int process) {
                              for (int i = 0; i < kEach; ++i)
                                  if (!registry_.put(linear(1 + process * 1000 + i)).ok())
                                      return false;
                              return true;
                          }),
              0);
    EXPECT_EQ(registry_.all().entries.size(), std::size_t{kProcesses * kEach});
}

TEST_F(InFolders, WhatIsKnownIsReadAgainAfterAWrite) {
    EXPECT_TRUE(registry_.known().entries.empty());
    ASSERT_TRUE(registry_.put(linear()).ok());
    EXPECT_EQ(registry_.known().entries.size(), 1u);
    ASSERT_EQ(*registry_.remove({file_of(linear(), own_)}), 1);
    EXPECT_TRUE(registry_.known().entries.empty());
}

}  // namespace
}  // namespace fact::registry
