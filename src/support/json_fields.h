// Checked reading of JSON that others wrote: a field that is missing or of the wrong kind is a
// SchemaError naming it, never a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace fact {

// Thrown inside a decoder only; decoding() turns it into an Error.
class SchemaError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Refuses nesting deeper than any real file has; accepts bare Infinity, -Infinity and NaN by
// reading them as strings. `Json` is nlohmann::json, or ordered_json where keys keep their order.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text);
// For text that may not be JSON at all: nullopt if parse_json would throw.
template <class Json = nlohmann::json>
std::optional<Json> try_parse_json(std::string_view text);

// The member `key`; throws when `object` is not an object or lacks it.
const nlohmann::json& field(const nlohmann::json& object, const char* key);
// The member `key`; nullptr if it is missing or null.
const nlohmann::json* optional_field(const nlohmann::json& object, const char* key);

const nlohmann::json& to_array(const nlohmann::json& value);
const nlohmann::json& to_object(const nlohmann::json& value);
// `Whole` is int or std::int64_t; a number that does not fit is refused.
template <class Whole = std::int64_t>
Whole to_int(const nlohmann::json& value);
double to_finite(const nlohmann::json& value);  // a JSON number, which is always finite
// A number, or the text "Infinity", "-Infinity", "NaN".
double to_double(const nlohmann::json& value);
bool to_bool(const nlohmann::json& value);
const std::string& to_text(const nlohmann::json& value);

// The member `key`, converted; a SchemaError names the key.
template <class Whole = std::int64_t>
Whole get_int(const nlohmann::json& object, const char* key);
double get_finite(const nlohmann::json& object, const char* key);
bool get_bool(const nlohmann::json& object, const char* key);
const std::string& get_text(const nlohmann::json& object, const char* key);
std::vector<std::string> get_texts(const nlohmann::json& object, const char* key);
// As above, but `otherwise` if the member is missing or null.
template <class Whole>
Whole get_int(const nlohmann::json& object, const char* key, Whole otherwise);
double get_finite(const nlohmann::json& object, const char* key, double otherwise);
bool get_bool(const nlohmann::json& object, const char* key, bool otherwise);
std::string get_text(const nlohmann::json& object, const char* key, const std::string& otherwise);

// The inverse of to_double: JSON has no infinities and no NaN.
nlohmann::ordered_json from_double(double value);

// Indented text; bytes that are not UTF-8 are replaced rather than refused.
std::string dump_json(const nlohmann::ordered_json& value);

// Runs a decoder; its SchemaError becomes an Error that starts with `what`.
template <class T>
Result<T> decoding(const std::string& what, const std::string& hint,
                   const std::function<Result<T>()>& decode) {
    try {
        return decode();
    } catch (const SchemaError& error) {
        return Error{what + ": " + error.what(), hint};
    }
}

// Runs `body`; a SchemaError in it is thrown again with the place put before its message.
template <class Body>
decltype(auto) at(const std::string& place, Body body) {
    try {
        return body();
    } catch (const SchemaError& error) {
        throw SchemaError(place + ": " + error.what());
    }
}

}  // namespace fact
