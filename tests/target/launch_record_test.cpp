#include "target/launch_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fact {
namespace {

// Every alternative of every variant once.
LaunchRecord sample() {
    LaunchRecord record;
    record.kernel = "mlp_up";
    record.arch = "sm90a";
    record.schedule = "tile 128x256x64";
    record.precision = "f16x3";
    record.params = {{"x", DType::f32, 2}, {"w", DType::f32, 2, "mlp.fact:1"}};
    record.outputs = {{"y", DType::bf16, 2}};
    record.equal_extents = {{{0, 1}, {1, 1}}};
    record.alignments = {{0, 16}, {1, 4, 2}};
    record.counts = {{{{0, 0}, {1, 0}}, 16}};
    record.workspaces = {{DType::f32, {{{{1, 0}}}, {{{1, 1}}}}, 2}};
    record.views = {{3, {2, 1}}};

    Launch prepare;
    prepare.entry = "split_w";
    prepare.grid = TileGrid{{{1, 0}}, {{1, 1}}, {}, 32, 64, 65535};
    prepare.block = 256;
    prepare.prepares_from = {0, 1};
    prepare.params = {StructParam{
        24, {{0, PointerField{1}}, {8, ExtentField{{{1, 0}, {1, 1}}}}, {16, TokenField{}}}}};

    Launch linear;
    linear.entry = "fill";
    linear.grid = LinearGrid{{{{2, 0, 1, 2}, {2, 1, -1, 1, 3}}, 8, 2}, 1024, 64};
    linear.block = 256;

    Launch product;
    product.entry = "mlp_up";
    product.grid = PersistentGrid{{{0, 0}}, {{1, 0}}, {}, 128, 256, {{0, 1}}, 64, 144};
    product.block = 384;
    product.cluster = {2, 1};
    product.shared_bytes = 200'000;
    product.params = {TensorMapParam{3, {2, 1, 0, kNoDim}, {32, 256, 1, 1}, 128},
                      TensorMapParam{3, {2, 1, 0}, {32, 256}, 128, {{2, -1, 1}}},
                      StructParam{16, {{0, PointerField{2}}, {8, StrideField{2, kNoDim}}}},
                      TensorMapParam{3, {2, 1, 0, kNoDim}, {32, 256, 1, 1}, 128, {}, {4}}};
    record.launches = {prepare, linear, product};
    return record;
}

TEST(LaunchRecord, ComesBackAsItWasWritten) {
    auto record = launch_record_from_json(to_json(sample()));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(*record, sample());
}

TEST(LaunchRecord, TextIsStable) {
    auto json = nlohmann::json::parse(to_json(sample()));
    EXPECT_EQ(json["params"][0].dump(), R"({"dtype":"f32","name":"x","rank":2})");
    EXPECT_EQ(json["params"][1].dump(),
              R"({"dtype":"f32","name":"w","origin":"mlp.fact:1","rank":2})");
    EXPECT_EQ(json["launches"][2]["grid"].dump(),
              R"({"persistent":{"batch":[],"k":[[0,1]],"m":[[0,0]],"most_blocks":144,)"
              R"("n":[[1,0]],"tile_k":64,"tile_m":128,"tile_n":256}})");
    EXPECT_EQ(json["counts"].dump(), R"([{"dims":[[0,0],[1,0]],"over":1,"times":16}])");
    EXPECT_EQ(json["launches"][2]["params"][2]["struct"]["members"][1].dump(),
              R"({"field":{"stride":{"dim":-1,"tensor":2}},"offset":8})");
}

TEST(LaunchRecord, OlderOnesPrepareFromOneParameter) {
    auto json = nlohmann::json::parse(to_json(sample()));
    json["launches"][0]["prepares_from"] = 1;
    json["launches"][1]["prepares_from"] = -1;
    const auto record = launch_record_from_json(json.dump());
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->launches[0].prepares_from, std::vector{1});
    EXPECT_TRUE(record->launches[1].prepares_from.empty());
}

TEST(LaunchRecord, DamagedTextIsAnError) {
    std::string text = to_json(sample());
    EXPECT_FALSE(launch_record_from_json(""));
    EXPECT_FALSE(launch_record_from_json("[]"));
    EXPECT_FALSE(launch_record_from_json("null"));
    for (std::size_t length = 0; length + 2 < text.size(); length += 37)
        EXPECT_FALSE(launch_record_from_json(std::string_view(text).substr(0, length)));
}

std::string why(const LaunchRecord& record) {
    auto read = launch_record_from_json(to_json(record));
    return read ? "" : read.error().message;
}

TEST(LaunchRecord, IndicesOutOfRangeAreNamed) {
    auto record = sample();
    std::get<StructParam>(record.launches[0].params[0]).members[0].field = PointerField{5};
    EXPECT_EQ(why(record), "not a launch record: tensor 5 is out of range");

    record = sample();
    std::get<TensorMapParam>(record.launches[2].params[0]).dims[0] = 3;
    EXPECT_EQ(why(record), "not a launch record: dimension 3 of tensor 3 is out of range");

    record = sample();
    std::get<StructParam>(record.launches[0].params[0]).bytes = 15;
    EXPECT_EQ(why(record),
              "not a launch record: offset 16 in a struct of 15 bytes is out of range");

    record = sample();
    std::get<TileGrid>(record.launches[0].grid).tile_m = 0;
    EXPECT_EQ(why(record), "not a launch record: tile 0x64 is out of range");

    record = sample();
    record.launches[0].prepares_from = {1, 2};
    EXPECT_EQ(why(record), "not a launch record: prepared parameter 2 is out of range");
    record.launches[0].prepares_from = {1, 0};
    EXPECT_EQ(why(record), "not a launch record: prepared parameter 0 is out of range");

    record = sample();
    record.equal_extents[0][0].dim = -1;
    EXPECT_EQ(why(record), "not a launch record: dimension -1 of tensor 0 is out of range");
}

TEST(LaunchRecord, NumbersThatDoNotFitAreRefused) {
    const auto with = [](const char* place, const nlohmann::json& value) {
        auto json = nlohmann::json::parse(to_json(sample()));
        json[nlohmann::json::json_pointer(place)] = value;
        const auto read = launch_record_from_json(json.dump());
        return read ? "" : read.error().message;
    };
    EXPECT_EQ(with("/launches/0/block", 1e30),
              "not a launch record: block: expected an integer of at most 32 bits, found number");
    EXPECT_EQ(with("/format", 4294967297),
              "not a launch record: format: 4294967297 does not fit 32 bits");
    EXPECT_EQ(with("/params/0/rank", -4294967294),
              "not a launch record: rank: -4294967294 does not fit 32 bits");
    EXPECT_EQ(with("/launches/0/cluster", {1, 1, 1}), "not a launch record: expected 2 integers");
    EXPECT_EQ(with("/launches/0/cluster", {2147483647, 2}),
              "not a launch record: cluster extent 2147483647 is out of range");
    for (int bytes : {-2147483647 - 1, 2147483647})
        EXPECT_EQ(with("/launches/2/params/2/struct/bytes", bytes),
                  fmt::format("not a launch record: struct of {} bytes is out of range", bytes));
}

TEST(LaunchRecord, DeepTextsAreRefused) {
    const std::string deep = std::string(200000, '[') + std::string(200000, ']');
    for (const char* place : {"/launches/0/grid", "/extent_rules"}) {
        auto json = nlohmann::json::parse(to_json(sample()));
        json[nlohmann::json::json_pointer(place)] = "here";
        std::string text = json.dump();
        text.replace(text.find("\"here\""), 6, deep);
        EXPECT_FALSE(launch_record_from_json(text)) << place;
    }
}

TEST(LaunchRecord, UnknownWordsAreNamed) {
    auto json = nlohmann::json::parse(to_json(sample()));
    auto rejects = [](const nlohmann::json& changed, const char* reason) {
        auto read = launch_record_from_json(changed.dump());
        return !read && read.error().message.find(reason) != std::string::npos;
    };
    auto changed = json;
    changed["format"] = 2;
    EXPECT_TRUE(rejects(changed, "format 2"));
    changed = json;
    changed["params"][0]["dtype"] = "f8";
    EXPECT_TRUE(rejects(changed, "element type 'f8'"));
    changed = json;
    changed["launches"][0]["grid"] = {{"spiral", 1}};
    EXPECT_TRUE(rejects(changed, "grid 'spiral'"));
    changed = json;
    changed["launches"][0]["params"][0] = {{"texture", 1}};
    EXPECT_TRUE(rejects(changed, "kernel parameter 'texture'"));
}

}  // namespace
}  // namespace fact
