#include "registry/neighbours.h"

#include <gtest/gtest.h>

#include "records.h"

namespace fact::registry {
namespace {

Entry entry(Record record, const std::string& schedule) {
    record.schedule = schedule;
    return {{}, true, std::move(record)};
}

using Names = std::vector<std::string>;

TEST(Neighbours, DistanceIsOfRatios) {
    EXPECT_EQ(distance(linear().work, linear().work), 0);
    EXPECT_EQ(distance(linear(1024).work, linear(4096).work), 2);
    EXPECT_EQ(distance(linear(4096).work, linear(1024).work), 2);
    auto batched = linear(1024);
    batched.work.batch = 8;
    EXPECT_EQ(distance(linear(4096).work, batched.work), 5);
    EXPECT_EQ(distance(Work{}, Work{}), 0);  // no product: all extents are 0
}

TEST(Neighbours, NearestFirst) {
    const std::vector<Entry> known{entry(linear(65536), "far"), entry(linear(8192), "near"),
                                   entry(linear(4096, 3072, 1000), "nearest"),
                                   entry(linear(16384), "middle")};
    EXPECT_EQ(neighbour_schedules(known, linear().work),
              (Names{"nearest", "near", "middle", "far"}));
    EXPECT_EQ(neighbour_schedules(known, linear().work, 2), (Names{"nearest", "near"}));
}

TEST(Neighbours, TheSameWorkThenTheSameRuleThenTheSameKindOfProduct) {
    auto other_epilogue = linear();
    other_epilogue.work.text.replace(other_epilogue.work.text.find("acc + bias"), 10, "relu(acc)");
    auto other_gpu = linear();
    other_gpu.work.gpu = "NVIDIA H100 80GB HBM3";
    auto other_compiler = linear();
    other_compiler.toolchain.versions = "nvcc 12.4.0, CUTLASS 3.9.0";
    const std::vector<Entry> known{
        entry(other_epilogue, "other epilogue"), entry(other_gpu, "other GPU"),
        entry(linear(8192), "other extents"), entry(other_compiler, "other compiler")};
    EXPECT_EQ(neighbour_schedules(known, linear().work),
              (Names{"other compiler", "other extents", "other GPU", "other epilogue"}));
}

TEST(Neighbours, OtherTypesAndLayoutsSayNothing) {
    std::vector<Record> others(5, linear());
    others[0].work.dtype = "f16";
    others[1].work.arch = "sm80";
    others[2].work.split = true;
    others[3].work.b_along_k = false;
    others[4].work.rule = "attention", others[4].work.text = "kernel f() { }";
    std::vector<Entry> known;
    for (const auto& other : others) known.push_back(entry(other, "other"));
    EXPECT_EQ(neighbour_schedules(known, linear().work), Names{});
    known.push_back(entry(linear(), ""));  // nothing to lower by
    EXPECT_EQ(neighbour_schedules(known, linear().work), Names{});
}

TEST(Neighbours, EachScheduleOnce) {
    auto later = linear(8192);
    later.provenance.date = "2027-01-01T00:00:00.000Z";
    later.work.call = "another";
    const std::vector<Entry> known{entry(linear(4096), "a"), entry(linear(4097), "a"),
                                   entry(linear(8192), "older"), entry(later, "later")};
    EXPECT_EQ(neighbour_schedules(known, linear().work), (Names{"a", "later", "older"}));
}

}  // namespace
}  // namespace fact::registry
