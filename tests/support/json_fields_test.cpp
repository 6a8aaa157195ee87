#include "support/json_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace fact {
namespace {

using nlohmann::json;

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

// What reading `text` so says; "" where it is read.
std::string why(const std::string& text, const std::function<void(const json&)>& read) {
    const auto done = decoding<Ok>("it", "", [&] {
        read(parse_json(text));
        return Ok{};
    });
    return done ? "" : done.error().message;
}

TEST(JsonFields, DeepTextsAreRefused) {
    EXPECT_TRUE(try_parse_json(nested(256)));
    EXPECT_FALSE(try_parse_json(nested(257)));
    EXPECT_FALSE(try_parse_json(std::string(1'000'000, '{')));
    EXPECT_FALSE(try_parse_json(nested(257) + std::string(257, ']')));
    EXPECT_FALSE(try_parse_json(std::string(257, ']') + nested(257)));
    EXPECT_EQ(why(nested(1000), [](const json&) {}),
              "it: JSON is nested 1000 deep; at most 256 is read");
    // Brackets within strings do not count.
    const std::string quoted = "[\"\\\"" + std::string(1000, '[') + "\"]";
    EXPECT_EQ(parse_json(quoted)[0].get<std::string>(), "\"" + std::string(1000, '['));
}

TEST(JsonFields, WhatIsNoJsonIsRefused) {
    for (const char* text : {"", "{", "[1,]", "nul", "\xff", "{\"a\": 1} x", "Infinit", "1e999"})
        EXPECT_FALSE(try_parse_json(text)) << text;
    EXPECT_EQ(why("{", [](const json&) {}).find("it: not valid JSON ("), 0u);
    EXPECT_EQ(try_parse_json<nlohmann::ordered_json>("{\"b\": 1, \"a\": NaN}")->dump(),
              "{\"b\":1,\"a\":\"NaN\"}");
}

TEST(JsonFields, MessagesNameTheField) {
    EXPECT_EQ(why("[]", [](const json& j) { field(j, "a"); }),
              "it: expected an object, found array");
    EXPECT_EQ(why("{}", [](const json& j) { get_text(j, "a"); }), "it: field 'a' is missing");
    EXPECT_EQ(why("{\"a\": 1}", [](const json& j) { get_text(j, "a"); }),
              "it: a: expected a string, found number");
    EXPECT_EQ(why("{\"a\": [1]}", [](const json& j) { get_texts(j, "a"); }),
              "it: a: expected a string, found number");
    EXPECT_EQ(why("{\"a\": 1}", [](const json& j) { get_bool(j, "a", true); }),
              "it: a: expected true or false, found number");
    EXPECT_EQ(why("{\"a\": NaN}", [](const json& j) { get_finite(j, "a"); }),
              "it: a: expected a number, found string");
}

TEST(JsonFields, IntegersAreWholeAndFit) {
    const auto read = [](const std::string& number) {
        return why("{\"a\": " + number + "}", [](const json& j) { get_int<int>(j, "a"); });
    };
    EXPECT_EQ(read("-2147483648"), "");
    EXPECT_EQ(read("2147483648"), "it: a: 2147483648 does not fit 32 bits");
    EXPECT_EQ(read("2.0"), "it: a: expected an integer of at most 32 bits, found number");
    EXPECT_EQ(read("true"), "it: a: expected an integer of at most 32 bits, found boolean");
    EXPECT_EQ(to_int(json(std::numeric_limits<std::int64_t>::min())),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_THROW(to_int(json(std::numeric_limits<std::uint64_t>::max())), SchemaError);
}

TEST(JsonFields, WhatMayBeMissing) {
    const json object{{"none", nullptr}, {"text", "x"}, {"count", 3}};
    for (const char* key : {"none", "other"}) {
        EXPECT_EQ(get_text(object, key, "y"), "y");
        EXPECT_EQ(get_int(object, key, 7), 7);
        EXPECT_EQ(get_finite(object, key, 0.5), 0.5);
        EXPECT_TRUE(get_bool(object, key, true));
    }
    EXPECT_EQ(get_text(object, "text", "y"), "x");
    EXPECT_EQ(get_int(object, "count", 7), 3);
    EXPECT_THROW(get_text(json::array(), "text", "y"), SchemaError);
}

}  // namespace
}  // namespace fact
