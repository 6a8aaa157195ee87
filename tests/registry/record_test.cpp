#include "registry/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "records.h"

namespace fact::registry {
namespace {

using Json = nlohmann::ordered_json;

// The record's JSON with one thing changed, as an importer would see it.
std::string changed(const std::string& pointer, const Json& value) {
    auto json = Json::parse(to_json(linear()));
    json[Json::json_pointer(pointer)] = value;
    return json.dump();
}

TEST(Record, RoundTripsOnOneLineAndOnMany) {
    const auto record = linear();
    for (const int indent : {-1, 1}) {
        const auto text = to_json(record, indent);
        EXPECT_EQ(text.back(), '\n');
        EXPECT_EQ(std::count(text.begin(), text.end(), '\n') == 1, indent < 0);
        const auto back = record_from_json(text);
        ASSERT_TRUE(back.ok()) << back.error().text();
        EXPECT_EQ(*back, record);
        EXPECT_EQ(to_json(*back, indent), text);
    }
}

TEST(Record, EveryFieldIsWritten) {
    // What a field holds comes back: none is left at its default.
    auto record = linear();
    record.work.split = record.work.allow_tf32 = true;
    record.work.a_along_k = record.work.b_along_k = false;
    record.work.batch = 3;
    record.work.output = "f32";
    const auto back = record_from_json(to_json(record));
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(*back, record);
}

TEST(Record, RefusesWhatIsNotOne) {
    const auto whole = to_json(linear());
    for (const std::string& text :
         {std::string(), std::string("{}"), std::string("[]"), std::string("null"),
          std::string("{\"format\": \"1\"}"), whole.substr(0, whole.size() / 2),
          whole.substr(0, whole.size() - 3), std::string("\0\0\0\0", 4)})
        EXPECT_FALSE(record_from_json(text).ok()) << text;
}

TEST(Record, SaysWhatIsWrong) {
    const auto why = [](const std::string& text) {
        const auto record = record_from_json(text);
        return record.ok() ? std::string("nothing") : record.error().message;
    };
    EXPECT_NE(why(changed("/format", 2)).find("format 2"), std::string::npos);
    EXPECT_NE(why(changed("/times/single/runs", 0)).find("no measurement"), std::string::npos);
    EXPECT_NE(why(changed("/checks", Json::array())).find("not checked"), std::string::npos);
    EXPECT_NE(why(changed("/work/gpu", "")).find("which GPU"), std::string::npos);
    EXPECT_NE(why(changed("/checks/0/kernel/largest", -1)).find("not a number"), std::string::npos);
    EXPECT_NE(why(changed("/times/held/median_us", 0)).find("not greater than 0"),
              std::string::npos);
    EXPECT_NE(why(changed("/times/single/median_us", 0.001)).find("median is not between"),
              std::string::npos);
    EXPECT_NE(why(changed("/schedule", nullptr)).find("null"), std::string::npos);
    // A shape that was edited is another record under a false name.
    EXPECT_NE(why(changed("/work/m", 8192)).find("its content has the key"), std::string::npos);
    EXPECT_NE(why(changed("/toolchain/versions", "nvcc 12.4.0, CUTLASS 3.9.0")).find("its content"),
              std::string::npos);
    // What is in no key may be anything.
    EXPECT_EQ(why(changed("/provenance/commit", "other")), "nothing");
}

TEST(Record, CountsAreWholeAndFit) {
    for (const char* at : {"/effort", "/candidates", "/format", "/work/m", "/times/single/runs"})
        for (const Json& value : {Json(1e30), Json(2.5), Json(std::uint64_t{1} << 63), Json("3")})
            EXPECT_FALSE(record_from_json(changed(at, value)).ok()) << at << " " << value;
}

TEST(Record, TheWorstCheckSpeaksForAll) {
    const auto worst = exactness(linear());
    EXPECT_EQ(worst.kernel, 3e-3);
    EXPECT_EQ(worst.eager, 3e-3);
}

}  // namespace
}  // namespace fact::registry
